"""The policy of the gateway: which messages, fields and values of Spark Connect pass."""
