"""JSON documents: read within bounds, and written again so that what reads them next meets nothing unexpected."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from headgate.untrusted_input.errors import OversizedInputError, UnreadableInputError

MAX_DEPTH: Final = 100
"""Objects and arrays within each other. A column within a column takes two or three."""
MAX_VALUES: Final = 1_000_000
"""Members, items and the document itself."""


def rewrite_json(document: bytes | bytearray) -> bytes:
    """Return the document with the same values, written by us. Raises as `read_json` does."""
    with _named_errors():
        return json.dumps(read_json(document), ensure_ascii=False, allow_nan=False).encode()


def read_json(document: bytes | bytearray) -> Any:
    """Return the value of a document.

    Raises:
        UnreadableInputError: it is not JSON in UTF-8, has a name twice in one object, or a number that is none.
        OversizedInputError: it has too many values, or values too deep within each other.
    """
    with _named_errors():
        value = json.loads(bytes(document).decode(), object_pairs_hook=distinct_members, parse_constant=_no_number)
        check_json_bounds(value)
        return value


@contextmanager
def _named_errors() -> Iterator[None]:
    try:
        yield
    except MemoryError:
        raise OversizedInputError("the JSON document needs more memory than one document may use") from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        raise UnreadableInputError(
            "the document is not valid JSON in UTF-8, has a name twice, or a number out of range"
        ) from None


def check_json_bounds(document: Any, max_values: int | None = None) -> None:
    """Raise `OversizedInputError` if a document that was read has too many values, or too deep within each other.

    `max_values` is `MAX_VALUES` unless it is given.
    """
    most = MAX_VALUES if max_values is None else max_values
    level, count = [document], 0
    for _ in range(MAX_DEPTH + 1):
        count += len(level)
        if count > most:
            raise OversizedInputError(f"the JSON document has more than {most:,} values")
        level = [part for value in level for part in _parts(value)]
        if not level:
            return
    raise _too_deep()


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _too_deep() -> OversizedInputError:
    return OversizedInputError(f"the JSON document has values more than {MAX_DEPTH} levels deep; flatten it")


def distinct_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of an object. Raises `ValueError` if two have one name."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _no_number(_name: str) -> Any:
    raise ValueError
