"""JSON documents: read within bounds, and written again so that what reads them next meets nothing unexpected."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from headgate.untrusted_input.errors import OversizedInputError, UnreadableInputError
from headgate.untrusted_input.json_shape import too_deep, too_wide

MAX_DEPTH: Final = 100
"""Objects and arrays within each other. A column within a column takes two or three."""
MAX_VALUES: Final = 1_000_000
"""Members, items and the document itself."""


def rewrite_json(document: bytes | bytearray) -> bytes:
    """Return the document with the same values, written by us. Raises as `read_json` does."""
    with _translate_errors():
        return json.dumps(read_json(document), ensure_ascii=False, allow_nan=False).encode()


def read_json(document: bytes | bytearray) -> Any:
    """Return the value of a document.

    Raises:
        UnreadableInputError: it is not JSON in UTF-8, has a name twice in one object, or a number that is none.
        OversizedInputError: it has too many values, or values too deep within each other.
    """
    with _translate_errors():
        check_json_bounds(document)
        return json.loads(bytes(document).decode(), object_pairs_hook=distinct_members, parse_constant=_no_number)


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except MemoryError:
        raise OversizedInputError("the JSON document needs more memory than one document may use") from None
    except ValueError:
        raise UnreadableInputError(
            "the document is not valid JSON in UTF-8, has a name twice, or a number out of range"
        ) from None


def check_json_bounds(document: bytes | bytearray) -> None:
    """Raise `OversizedInputError` if a document, which nothing has parsed yet, has too many values or too deep within each other."""
    # The document itself is one of its values, and no member.
    if too_wide(document, MAX_VALUES - 1):
        raise OversizedInputError(f"the JSON document has more than {MAX_VALUES:,} values")
    if too_deep(document, MAX_DEPTH):
        raise OversizedInputError(f"the JSON document has values more than {MAX_DEPTH} levels deep; flatten it")


def distinct_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of an object. Raises `ValueError` if two have one name."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _no_number(_name: str) -> Any:
    raise ValueError
