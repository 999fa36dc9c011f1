"""Definitions of pipelines, parsed and validated."""
