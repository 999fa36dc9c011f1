"""JSON documents: parsed within limits, and rewritten so that the next reader finds no unusual encoding."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from headgate.untrusted_input.errors import OversizedInputError, UnreadableInputError
from headgate.untrusted_input.json_shape import too_deep, too_wide

MAX_DEPTH: Final = 100
"""The limit of levels of nested objects and arrays. A nested column takes two or three levels."""
MAX_VALUES: Final = 1_000_000
"""The limit of values: members, items and the document itself."""


def rewrite_json(document: bytes | bytearray) -> bytes:
    """Return a new document with the same values. Raises the same errors as `read_json`."""
    with _translate_errors():
        return json.dumps(read_json(document), ensure_ascii=False, allow_nan=False).encode()


def read_json(document: bytes | bytearray) -> Any:
    """Return the value of a document.

    Raises:
        UnreadableInputError: the document is not JSON in UTF-8, or has a duplicate name in an object, NaN or an infinity.
        OversizedInputError: the document has too many or too deeply nested values.
    """
    with _translate_errors():
        check_json_bounds(document)
        return json.loads(bytes(document).decode(), object_pairs_hook=distinct_members, parse_constant=_no_number)


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except MemoryError:
        raise OversizedInputError(
            "the JSON document needs more memory than one document may use; divide the document"
        ) from None
    except ValueError:
        raise UnreadableInputError(
            "the document is not valid JSON in UTF-8, or has a duplicate name or a number out of range; write the document again"
        ) from None


def check_json_bounds(document: bytes | bytearray) -> None:
    """Raise `OversizedInputError` if an unparsed document has too many or too deeply nested values."""
    # The document itself counts as a value, but not as a member.
    if too_wide(document, MAX_VALUES - 1):
        raise OversizedInputError(
            f"the JSON document has more than {MAX_VALUES:,} values; send or write fewer values in one document"
        )
    if too_deep(document, MAX_DEPTH):
        raise OversizedInputError(
            f"the JSON document has values more than {MAX_DEPTH} levels deep; flatten the document"
        )


def distinct_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of an object. Raises `ValueError` for a duplicate name."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _no_number(_name: str) -> Any:
    raise ValueError
