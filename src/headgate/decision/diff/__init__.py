"""Differences: which decisions a change alters, and for which principals."""
