"""Scenarios: `headgate model test` runs folders of cases."""
