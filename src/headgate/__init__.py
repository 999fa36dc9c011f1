"""Headgate: the access-control plane of a lakehouse, and the guard that makes Spark obey it."""
