"""The policy of the gateway: the allow list of messages, fields and values of Spark Connect."""
