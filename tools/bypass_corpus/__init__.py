"""Runs the bypass corpus: attempts every case on a separate deployment, and judges the result."""
