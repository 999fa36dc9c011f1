"""Measurements of `bench/http`: servers with the same organization, and a client that keeps them busy."""
