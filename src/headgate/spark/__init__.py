"""Spark: the driver process, the gateway in front of it, and the sessions that stand for callers in it."""
