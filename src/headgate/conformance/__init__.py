"""Scenarios: worlds and cases written in a product's own words, run on the real commands and asked of an engine."""
