"""Where a path leads, and whether that is inside a location. Text only: symbolic links are the caller's.

A location is a folder of this machine (`file:` or a plain path) or a prefix in an object store (`s3://bucket/prefix`).

Writers, readers and operating systems read the same text in different ways: some decode `%2e`, some cut at `#`.
So a path is only accepted where every reading leads to the same side.
"""

from urllib.parse import unquote

from headgate.lake.errors import RuleError

SCHEME = "file:"
OBJECT_STORES = ("s3://", "s3a://", "s3n://")
"""The same place under each of these; Headgate itself writes the first."""
_UNCLEAR = frozenset("?#\\")


def path_of(location: str) -> str:
    """Return the absolute path that a `file:` URI or a plain path names, without doubled slashes.

    Raises `RuleError` for another scheme, another machine, a relative path, `.` and `..`, and whatever readers
    would understand differently.
    """
    path = location.removeprefix(SCHEME)
    if location.startswith(f"{SCHEME}//"):
        host, slash, rest = path[2:].partition("/")
        if host:
            raise RuleError("a path must not name another machine")
        path = slash + rest
    if not path.startswith("/"):
        raise RuleError("a path must be absolute, in the scheme of the warehouse")
    if not path.isprintable() or _UNCLEAR.intersection(path):
        raise RuleError("a path must not hold control characters, `?`, `#` or a backslash")
    parts = [part for part in path.split("/") if part]
    if {".", ".."}.intersection(parts):
        raise RuleError("a path must not hold `.` or `..`")
    return "/" + "/".join(parts)


def place_of(location: str) -> str:
    """Return one text for one place: an absolute path, or `s3://bucket/key`. Raises `RuleError` as `path_of` does."""
    scheme = next((each for each in OBJECT_STORES if location.startswith(each)), None)
    if scheme is None:
        return path_of(location)
    bucket, slash, key = location.removeprefix(scheme).partition("/")
    # In a bucket `a//b` is another object than `a/b`, and what a client library makes of it nobody knows.
    if not bucket or (slash and path_of(slash + key) != slash + key.removesuffix("/")):
        raise RuleError("a path in a bucket must have no empty parts")
    return OBJECT_STORES[0] + bucket + slash + key.removesuffix("/")


def is_inside(location: str, path: str) -> bool:
    """Return whether the path lies strictly below the location, as written and with `%` decoded."""
    try:
        outer, inner = place_of(location), place_of(path)
    except RuleError:
        return False
    return _below(outer, inner) and _below(_normal(_decoded(outer)), _normal(_decoded(inner)))


def is_directly_inside(folder: str, path: str) -> bool:
    """Return whether the path is a file of the folder and of none of its subfolders, as written and with `%` decoded."""
    if not is_inside(folder, path):
        return False
    name = place_of(path).removeprefix(place_of(folder) + "/")
    return "/" not in _decoded(name)


def overlap(one: str, other: str) -> bool:
    """Return whether two locations are the same, or one lies inside the other."""
    return place_of(one) == place_of(other) or is_inside(one, other) or is_inside(other, one)


def _below(outer: str, inner: str) -> bool:
    return inner.startswith(outer.rstrip("/") + "/")


def _decoded(path: str) -> str:
    # Until nothing changes: nobody knows how often a reader decodes.
    while (once := unquote(path)) != path:
        path = once
    return path


def _normal(path: str) -> str:
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)
