"""Names of clusters that do not come from the configuration."""

EMBEDDED = "embedded"
"""The cluster that always exists: the Spark beside the server."""
