"""Untrusted input: a short-lived process with limits parses bytes that a client made, and writes or draws them again."""
