"""Definitions: what a pipeline says it does, parsed and checked."""
