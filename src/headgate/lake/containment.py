"""Path containment: whether a path is inside a location. Compares texts only; the calling code resolves symbolic links.

A location is a folder of this machine (`file:` or a plain path) or a prefix in an object store (`s3://bucket/prefix`).

Writers, readers and operating systems interpret the same text differently: some decode `%2e`, some cut at `#`. So a path
counts as inside only if it is inside under every interpretation.
"""

from urllib.parse import unquote

from headgate.lake.errors import RuleError

SCHEME = "file:"
OBJECT_STORES = ("s3://", "s3a://", "s3n://")
"""Schemes that are equivalent; Headgate itself writes the first."""
_UNCLEAR = frozenset("?#\\")
_LONGEST = 4096
"""The most characters of a path: Linux and macOS open no longer one, and keys of object stores are shorter."""
_MOST_DECODINGS = 4
"""How often the `%` of a path may be decoded until nothing changes; each further time reads the whole path again."""


def path_of(location: str) -> str:
    """Return the absolute path that a `file:` URI or a plain path names, without doubled slashes.

    Raises `RuleError` for another scheme, another machine, a relative path, `.` and `..`, a path that is too long or encoded
    too often, and for characters that readers interpret differently.
    """
    _require_short(location)
    path = location.removeprefix(SCHEME)
    if location.startswith(f"{SCHEME}//"):
        host, slash, rest = path[2:].partition("/")
        if host:
            raise RuleError(
                "the path of the table or warehouse names a host; write it without a host, as in `file:///folder`"
            )
        path = slash + rest
    if not path.startswith("/"):
        raise RuleError(
            "the path of the table or warehouse is relative, or has another scheme than the warehouse; use an absolute path with the scheme of the warehouse, as in `file:///folder` or `s3://bucket/prefix`"
        )
    if not path.isprintable() or _UNCLEAR.intersection(path):
        raise RuleError(
            "the path of the table or warehouse contains a control character, `?`, `#` or a backslash; use a path without them"
        )
    _decoded(path)  # raises for a path that is encoded too often
    parts = [part for part in path.split("/") if part]
    if {".", ".."}.intersection(parts):
        raise RuleError("the path of the table or warehouse contains a part `.` or `..`; write it without them")
    return "/" + "/".join(parts)


def place_of(location: str) -> str:
    """Return the normal form of a location: an absolute path, or `s3://bucket/key`. Raises `RuleError` as `path_of` does."""
    scheme = next((each for each in OBJECT_STORES if location.startswith(each)), None)
    if scheme is None:
        return path_of(location)
    _require_short(location)
    bucket, slash, key = location.removeprefix(scheme).partition("/")
    if not bucket:
        raise RuleError("the path of the table or warehouse names no bucket; write it as `s3://bucket/prefix`")
    _decoded(bucket)  # raises for a name that is encoded too often
    # In a bucket `a//b` is another object than `a/b`, and client libraries treat the difference differently.
    if slash and path_of(slash + key) != slash + key.removesuffix("/"):
        raise RuleError(
            "the path of the table or warehouse has an empty part (`//`) after the bucket; use a path without empty parts"
        )
    return OBJECT_STORES[0] + bucket + slash + key.removesuffix("/")


def is_inside(location: str, path: str) -> bool:
    """Whether the path is strictly below the location, both as written and with `%` decoded."""
    try:
        outer, inner = place_of(location), place_of(path)
    except RuleError:
        return False
    return _below(outer, inner) and _below(_normal(_decoded(outer)), _normal(_decoded(inner)))


def is_directly_inside(folder: str, path: str) -> bool:
    """Whether the path is directly in the folder, in none of its subfolders, both as written and with `%` decoded."""
    if not is_inside(folder, path):
        return False
    name = place_of(path).removeprefix(place_of(folder) + "/")
    return "/" not in _decoded(name)


def overlap(one: str, other: str) -> bool:
    """Whether two locations are the same, or one is inside the other."""
    return place_of(one) == place_of(other) or is_inside(one, other) or is_inside(other, one)


def _require_short(location: str) -> None:
    if len(location) > _LONGEST:
        raise RuleError(f"the path of the table or warehouse has more than {_LONGEST} characters; use a shorter path")


def _below(outer: str, inner: str) -> bool:
    return inner.startswith(outer.rstrip("/") + "/")


def _decoded(path: str) -> str:
    # Repeated until nothing changes: a reader may decode more than once.
    for _ in range(_MOST_DECODINGS + 1):
        once = unquote(path)
        if once == path:
            return path
        path = once
    raise RuleError(
        f"the path of the table or warehouse is percent-encoded more than {_MOST_DECODINGS} times; write it decoded"
    )


def _normal(path: str) -> str:
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)
