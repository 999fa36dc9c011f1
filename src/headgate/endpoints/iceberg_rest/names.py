"""Full names in the lake, built from a client's namespace and name."""

from headgate.control.kernel.names import is_valid_name

QualifiedName = tuple[str, ...]
"""A full name, lake first: `("lake", "raw", "flights")`."""


def qualified_name(lake: str, namespace: tuple[str, ...], *below: str) -> QualifiedName | None:
    """Return the full name, or None if no resource can have it: namespaces have one level."""
    if len(namespace) != 1 or not all(map(is_valid_name, (*namespace, *below))):
        return None
    return (lake, *namespace, *below)


def joined_name(name: QualifiedName) -> str:
    """Return a full name as the client knows it, without the lake."""
    return ".".join(name[1:])
