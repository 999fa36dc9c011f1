"""Runs the bypass corpus: tries every case on a stack of its own, and judges what came of it."""
