"""Organizations: created, governed by models, suspended and removed."""
