"""Limits of requests to the catalog: a refusal changes nothing and is short."""

from collections.abc import Iterator
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from tests.lake.catalog_harness import CatalogHarness, served
from tests.view_version import view_version

SCHEMA = Schema(NestedField(1, "n", LongType()))
TABLE, VIEW = "/namespaces/raw/tables/t", "/namespaces/raw/views/v"
VERSION = view_version("raw")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CatalogHarness]:
    with served(tmp_path_factory.mktemp("world")) as made:
        made.iceberg().create_namespace("raw")
        for name in ("t", "u"):
            made.iceberg().create_table(("raw", name), SCHEMA)
        body = {"name": "v", "schema": SCHEMA.model_dump(), "view-version": VERSION, "properties": {}}
        assert made.call("POST", "/namespaces/raw/views", body).status_code == 200
        yield made


def _refused(world: CatalogHarness, path: str, body: Any) -> str:
    """Send an invalid request, and return the message of the refusal; check that no metadata file was written."""
    before = world.metadata_files()
    answer = world.call("POST", path, body)
    error = answer.json()["error"]
    assert (answer.status_code, error["type"]) == (400, "BadRequestException"), answer.text[:1000]
    assert world.metadata_files() == before
    return str(error["message"])


def _columns(*names_and_types: tuple[str, str]) -> dict[str, Any]:
    fields = [
        {"id": id, "name": name, "type": type, "required": False}
        for id, (name, type) in enumerate((("n", "long"), *names_and_types), start=1)
    ]
    return {"type": "struct", "schema-id": 0, "fields": fields}


def _add(schema: dict[str, Any]) -> dict[str, Any]:
    return {"action": "add-schema", "schema": schema}


@pytest.mark.parametrize("path", [TABLE, VIEW])
def test_a_commit_of_too_many_updates_is_a_bad_request_and_changes_nothing(world: CatalogHarness, path: str) -> None:
    updates = [{"action": "set-properties", "updates": {"comment": str(each)}} for each in range(1001)]

    assert "send at most 1,000 in one commit" in _refused(world, path, {"updates": updates})
    assert world.call("POST", path, {"updates": updates[1:]}).status_code == 200


def test_the_updates_of_a_transaction_are_counted_together(world: CatalogHarness) -> None:
    updates = [{"action": "set-properties", "updates": {"comment": str(each)}} for each in range(501)]
    changes = [{"identifier": {"namespace": ["raw"], "name": name}, "updates": updates} for name in ("t", "u")]

    message = _refused(world, "/transactions/commit", {"table-changes": changes})

    assert "has 1,002 updates; send at most 1,000 in one commit" in message


def test_a_refusal_quotes_a_long_type_only_in_part(world: CatalogHarness) -> None:
    schema = _columns(("wide", "decimal" + "9" * 3_900_000))

    messages = [
        _refused(world, "/namespaces/raw/tables", {"name": "new", "schema": schema}),
        _refused(world, TABLE, {"updates": [_add(schema)]}),
        _refused(world, VIEW, {"updates": [_add(schema)]}),
    ]

    assert all("99999" in each and len(each) < 3000 for each in messages), [each[:300] for each in messages]


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (("d", "decimal(38,39)"), "the column `d` cannot have the type decimal(38, 39): the scale"),
        (("d", "decimal(0,0)"), "must be between 1 and 38"),
        (("d", "decimal(39,2)"), "must be between 1 and 38"),
        (("", "long"), "a column of the schema has no name"),
        (("a\0b", "long"), "U+0000"),
        (("x" * 1001, "long"), "has more than 1,000 characters"),
    ],
    ids=["scale", "precision 0", "precision 39", "no name", "U+0000", "long name"],
)
def test_a_column_that_engines_refuse_is_a_bad_request(
    world: CatalogHarness, column: tuple[str, str], words: str
) -> None:
    schema = _columns(column)
    created = {"name": "new", "schema": schema}

    assert words in _refused(world, "/namespaces/raw/tables", created)
    assert words in _refused(world, TABLE, {"updates": [_add(schema)]})
    assert words in _refused(world, VIEW, {"updates": [_add(schema)]})
    assert words in _refused(world, "/namespaces/raw/views", {**created, "view-version": VERSION})


def test_the_properties_of_a_database_are_bounded(world: CatalogHarness) -> None:
    many = {f"p{each}": "" for each in range(1001)}

    assert "more than 1,000 properties" in _refused(world, "/namespaces", {"namespace": ["new"], "properties": many})
    assert "more than 1,000 properties" in _refused(world, "/namespaces/raw/properties", {"updates": many})
    assert "`k` is too long" in _refused(world, "/namespaces/raw/properties", {"updates": {"k": "v" * 100_001}})
