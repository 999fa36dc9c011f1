"""Attributes of resources that have a meaning of their own."""

KIND_ATTRIBUTE = "kind"
"""The attribute that tells what a resource is among those of its type; without it, it is what the type is called."""

STATE = "state"
"""The attribute that actions of its own change."""
