"""Connections: what a run reaches through one, and whether it may."""
