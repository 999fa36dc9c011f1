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
        (
            CreateNamespace,
            b'{"namespace": ["a b"]}',
            "the field `namespace.0` of the request is invalid: a name must have 1 to 255 letters",
        ),
        (
            CreateNamespace,
            b'{"namespace": "a"}',
            "the field `namespace` of the request is invalid: the value must be a list",
        ),
        (CreateNamespace, b"{}", "the field `namespace` of the request is invalid: the field is missing; add it"),
        (CreateNamespace, b"{", "the request is invalid: the JSON cannot be read"),
        (
            CreateTableBody,
            b'{"name": 7, "schema": {}}',
            "the field `name` of the request is invalid: the value must be a string",
        ),
        (
            CommitTable,
            b'{"updates": [{"action": "x"}]}',
            "the field `updates.0` of the request is invalid: 'action' cannot be 'x'",
        ),
        (
            CommitTable,
            b'{"updates": [{"action": "set-location"}]}',
            "the field `updates.0.location` of the request is invalid: the field is missing; add it",
        ),
    ],
)
def test_a_refusal_of_a_malformed_body_names_the_field_in_plain_words(kind: type, body: bytes, said: str) -> None:
    with pytest.raises(SpecError) as raised:
        parse_catalog_message(kind, body)

    assert str(raised.value).startswith(said)
