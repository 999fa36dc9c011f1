"""The HTTP API: one route per resource and verb, RFC 9457 problems, and authentication on every request except `/health`."""
