"""Migrations of the store, taken when it is opened."""
