"""Spark: the driver process, the gateway in front of it, and the sessions that represent callers in it."""
