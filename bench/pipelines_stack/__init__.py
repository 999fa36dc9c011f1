"""Runs of pipelines against the same work by hand."""
