"""Scenarios: worlds and cases in a product's own words, run through the real commands and checked against an engine."""
