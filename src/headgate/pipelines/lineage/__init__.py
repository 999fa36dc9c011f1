"""Lineage: which columns came from which, recorded, drawn and sent."""
