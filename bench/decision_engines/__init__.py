"""What `bench/decision` compares: one organization, its oracle, and an adapter for each engine."""
