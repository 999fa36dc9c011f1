"""Names that a database or a table can have."""

_RESERVED = frozenset("./*`\\")
LONGEST = 255


def usable(name: str) -> bool:
    """Return whether this can be a name: printable, and without what separates or matches names."""
    return 0 < len(name) <= LONGEST and name == name.strip() and name.isprintable() and not _RESERVED.intersection(name)
