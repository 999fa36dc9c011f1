"""Pipelines: one module per kind, and the runs that execute them on Spark under a run identity."""
