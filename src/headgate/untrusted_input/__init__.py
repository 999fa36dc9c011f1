"""Untrusted input: short-lived processes with limits parse bytes from clients, and rewrite or draw them."""
