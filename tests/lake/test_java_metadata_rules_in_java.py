"""Headgate refuses metadata exactly if Iceberg's own Java library does not open it, for each number and each case."""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from headgate.lake.errors import InvalidMetadataError
from headgate.spark.toolchain.prepare import Toolchain
from tests.lake import table_v1, table_v3
from tests.lake.java import JavaReader, java_reader
from tests.lake.table_v1 import TABLE_V1
from tests.lake.table_v3 import TABLE_V3
from tests.lake.test_java_metadata_rules import (
    READABLE_TABLES,
    TABLE,
    UNREADABLE_TABLES,
    UNREADABLE_VIEWS,
    VIEW,
    Document,
    changed,
    read_back,
)

pytestmark = pytest.mark.spark  # needs Java and the jar; no Spark is started

EDGES = tuple(number for bits in (31, 63) for number in (2**bits - 1, 2**bits, -(2**bits), -(2**bits) - 1))
Path = tuple[str | int, ...]


@pytest.fixture(scope="module")
def java(toolchain: Toolchain) -> Iterator[JavaReader]:
    with java_reader(toolchain) as reader:
        yield reader


def _numbers(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of each number in a document."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _numbers(each, (*path, key))
    elif isinstance(value, list):
        for position, each in enumerate(value):
            yield from _numbers(each, (*path, position))
    elif isinstance(value, int) and not isinstance(value, bool):
        yield path


def _put(document: Any, path: Path, number: int) -> None:
    for step in path[:-1]:
        document = document[step]
    document[path[-1]] = number


def _disagreement(java: JavaReader, document: Document) -> str | None:
    """Return the difference if Headgate refuses metadata that Java opens, or writes metadata that Java does not open."""
    try:
        written = read_back(document)
    except InvalidMetadataError as refusal:
        return None if java.fault(json.dumps(document)) else f"refused: {refusal}"
    return None if written is None else java.fault(written)


@pytest.mark.parametrize("document", [TABLE, VIEW], ids=["table", "view"])
def test_numbers_outside_the_range_of_java_are_refused_as_java_refuses_them(
    java: JavaReader, document: Document
) -> None:
    made = {
        (path, number): changed(document, partial(_put, path=path, number=number))
        for path in _numbers(document)
        for number in EDGES
    }

    faults = {where: fault for where, each in made.items() if (fault := _disagreement(java, each)) is not None}

    assert faults == {}


@pytest.mark.parametrize("case", [*UNREADABLE_TABLES, *READABLE_TABLES])
def test_java_opens_a_table_exactly_if_it_is_not_refused(java: JavaReader, case: str) -> None:
    change = UNREADABLE_TABLES[case][0] if case in UNREADABLE_TABLES else READABLE_TABLES[case]

    assert _disagreement(java, changed(TABLE, change)) is None


@pytest.mark.parametrize("case", UNREADABLE_VIEWS)
def test_java_does_not_open_a_view_that_is_refused(java: JavaReader, case: str) -> None:
    assert _disagreement(java, changed(VIEW, UNREADABLE_VIEWS[case][0])) is None


@pytest.mark.parametrize("case", table_v3.READABLE)
def test_java_opens_a_table_of_version_3_that_is_accepted(java: JavaReader, case: str) -> None:
    written = read_back(changed(TABLE_V3, table_v3.READABLE[case]))

    assert written is not None
    assert java.fault(written) is None


@pytest.mark.parametrize("case", table_v1.READABLE)
def test_java_opens_a_table_of_version_1_that_is_accepted_as_it_was_and_as_it_is_written(
    java: JavaReader, case: str
) -> None:
    document = changed(*table_v1.READABLE[case])

    written = read_back(document)

    assert written is not None
    assert (java.fault(json.dumps(document)), java.fault(written)) == (None, None)


@pytest.mark.parametrize("document", [TABLE_V1, TABLE_V3], ids=["version 1", "version 3"])
def test_java_opens_every_table_with_accepted_numbers(java: JavaReader, document: Document) -> None:
    made = [
        changed(document, partial(_put, path=path, number=number)) for path in _numbers(document) for number in EDGES
    ]

    assert {fault for each in made if (fault := _fault_of_written(java, each)) is not None} == set()


def _fault_of_written(java: JavaReader, document: Document) -> str | None:
    try:
        written = read_back(document)
    except InvalidMetadataError:
        return None
    return None if written is None else java.fault(written)
