"""Attributes of resources with a fixed meaning."""

KIND_ATTRIBUTE = "kind"
"""The attribute with the kind of a resource within its type; without it, the kind is the type itself."""

STATE = "state"
"""The attribute with the state, which only its own actions change."""
