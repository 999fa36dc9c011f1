"""Where a path leads, and whether that is inside a location. Text only: symbolic links are the caller's.

Writers, readers and operating systems read the same text in different ways: some decode `%2e`, some cut at `#`.
So a path is only accepted where every reading leads to the same side.
"""

from urllib.parse import unquote

from headgate.lake.errors import RuleError

SCHEME = "file:"
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


def inside(location: str, path: str) -> bool:
    """Return whether the path lies strictly below the location, as written and with `%` decoded."""
    try:
        outer, inner = path_of(location), path_of(path)
    except RuleError:
        return False
    return _below(outer, inner) and _below(_normal(_decoded(outer)), _normal(_decoded(inner)))


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
