"""Measurements of `bench/pipelines`: runs of pipelines, and the same work by hand."""
