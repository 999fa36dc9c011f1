"""Measurements of `bench/guard`: Spark with and without Headgate."""
