"""Explanations: the reasons of a decision, and the smallest changes that would reverse it."""
