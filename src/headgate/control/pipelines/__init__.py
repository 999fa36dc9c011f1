"""Pipelines: their definitions, states and runs, and the privileges that a run requires."""
