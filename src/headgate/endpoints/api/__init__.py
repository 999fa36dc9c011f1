"""The HTTP API: one route per verb of a noun, RFC 9457 problems, the caller's token on every request but `/health`."""
