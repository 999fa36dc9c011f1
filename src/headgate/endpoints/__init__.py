"""Endpoints: each identifies the caller, turns a request into a command or a question, and returns the answer. None decides."""
