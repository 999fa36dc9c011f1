"""Checks of a model: each fault is found with its line and column."""
