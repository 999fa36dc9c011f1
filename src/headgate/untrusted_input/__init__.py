"""Untrusted input: parses bytes that a client made in a short-lived process with limits, and writes them again."""
