"""Malformed requests to the catalog: the answer names the field, in plain words."""

import pytest

from headgate.endpoints.iceberg_rest.errors import SpecError
from headgate.endpoints.iceberg_rest.messages import (
    CommitTable,
    CreateNamespace,
    CreateTableBody,
    parse_catalog_message,
)


@pytest.mark.parametrize(
    ("kind", "body", "said"),
    [
        (CreateNamespace, b'{"namespace": ["a b"]}', "`namespace.0` cannot be used: a name must have 1 to 255 letters"),
        (CreateNamespace, b'{"namespace": "a"}', "`namespace` cannot be used: the value must be a list"),
        (CreateNamespace, b"{}", "`namespace` cannot be used: the field is missing; add it"),
        (CreateNamespace, b"{", "the request cannot be used: the JSON cannot be read"),
        (CreateTableBody, b'{"name": 7, "schema": {}}', "`name` cannot be used: the value must be a string"),
        (CommitTable, b'{"updates": [{"action": "x"}]}', "`updates.0` cannot be used: 'action' cannot be 'x'"),
        (
            CommitTable,
            b'{"updates": [{"action": "set-location"}]}',
            "`updates.0.location` cannot be used: the field is missing; add it",
        ),
    ],
)
def test_a_refusal_of_a_malformed_body_names_the_field_in_plain_words(kind: type, body: bytes, said: str) -> None:
    with pytest.raises(SpecError) as raised:
        parse_catalog_message(kind, body)

    assert str(raised.value).startswith(said)
