"""Checks of a model: each finds a kind of mistake, with its line and column."""
