"""Explanations: why a decision is as it is, and the smallest changes that would make it another."""
