"""Connections: their targets, and the vault that encrypts their secrets."""
