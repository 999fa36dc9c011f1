"""A value that must be a single word is refused if it is nested, at any depth."""

import pytest

from headgate.control.kernel.parsing import InvalidDocumentError, word


def test_a_deeply_nested_list_is_refused_as_a_word() -> None:
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]

    with pytest.raises(InvalidDocumentError, match="but a single value is needed"):
        word(nested)  # type: ignore[arg-type]
