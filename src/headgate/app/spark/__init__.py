"""Spark: the drivers and the gateway of a server, and the credentials that lead to them."""
