"""Endpoints: they identify the caller, turn a request into a command or a question, and the answer back. No endpoint decides."""
