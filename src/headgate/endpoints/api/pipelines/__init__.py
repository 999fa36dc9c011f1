"""Pipelines over the API: definitions, runs, triggers, charts and lineage."""
