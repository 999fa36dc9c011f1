"""Spark with and without Headgate in the way: what `bench/guard` measures."""
