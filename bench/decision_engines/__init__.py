"""Measurements of `bench/decision`: one organization, its oracle, and an adapter for each engine."""
