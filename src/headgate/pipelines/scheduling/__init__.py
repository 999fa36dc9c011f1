"""Scheduling: when runs are due, and which pipelines follow which."""
