"""A commit has a limited number of updates, and leaves a limited number of objects in the metadata."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

import pytest
from pydantic import TypeAdapter
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import TableUpdate
from pyiceberg.types import LongType, NestedField
from pyiceberg.view.metadata import ViewMetadata, ViewVersion

from headgate.facts.ids import ResourceId
from headgate.lake.commit_limits import (
    LONGEST_KEY,
    LONGEST_VALUE,
    MOST_OBJECTS,
    MOST_PROPERTIES,
    MOST_UPDATES,
    check_metadata_growth,
    check_property_sizes,
)
from headgate.lake.errors import InvalidMetadataError
from headgate.lake.metadata import NewTable, build_updated_metadata, new_metadata
from headgate.lake.views import KEPT_LOG, KEPT_SCHEMAS, NewView, ViewUpdate, build_updated_view, new_view
from tests.profiler import calls_during

Update = dict[str, Any]

LOCATION: Final = "file:///w/organization/d/t"
PATH: Final = f"{LOCATION}/metadata/00000-x.metadata.json"
ID: Final = ResourceId("5a3e0f0b-4d0f-4c57-b1b1-0a9c3c0f8a11")
UPDATES: Final[TypeAdapter[tuple[TableUpdate, ...]]] = TypeAdapter(tuple[TableUpdate, ...])
VIEW_UPDATES: Final[TypeAdapter[tuple[ViewUpdate, ...]]] = TypeAdapter(tuple[ViewUpdate, ...])
SCHEMA: Final = Schema(NestedField(1, "n", LongType()))


def _schema(number: int) -> Update:
    field = {"id": 1, "name": "n", "type": "long", "required": False, "doc": f"v{number}"}
    return {"action": "add-schema", "schema": {"type": "struct", "fields": [field]}}


def _spec(number: int) -> Update:
    field = {"source-id": 1, "field-id": 1000, "transform": f"bucket[{number + 1}]", "name": f"p{number}"}
    return {"action": "add-spec", "spec": {"fields": [field]}}


def _order(number: int) -> Update:
    field = {"source-id": 1, "transform": f"bucket[{number + 1}]", "direction": "asc", "null-order": "nulls-first"}
    return {"action": "add-sort-order", "sort-order": {"order-id": 1, "fields": [field]}}


def _property(number: int) -> Update:
    return {"action": "set-properties", "updates": {"comment": f"v{number}"}}


def _version(number: int) -> Update:
    return {
        "action": "add-view-version",
        "view-version": {
            "version-id": 1,
            "schema-id": 0,
            "timestamp-ms": 1,
            "summary": {},
            "representations": [{"type": "sql", "sql": f"SELECT {number}", "dialect": "spark"}],
            "default-namespace": ["db"],
        },
    }


def _current(number: int) -> Update:
    return {"action": "set-current-view-version", "view-version-id": number}


def _table() -> TableMetadata:
    return new_metadata(NewTable(SCHEMA), ID, LOCATION)


def _changed(base: TableMetadata, updates: Iterable[Update]) -> TableMetadata:
    return build_updated_metadata(base, PATH, UPDATES.validate_python(tuple(updates)))


def _view() -> ViewMetadata:
    return new_view(NewView(SCHEMA, ViewVersion.model_validate(_version(0)["view-version"])), ID, LOCATION)


def _changed_view(base: ViewMetadata, updates: Iterable[Update]) -> ViewMetadata:
    return build_updated_view(base, VIEW_UPDATES.validate_python(tuple(updates)), 1.0)


ADDED: Final[dict[str, tuple[Callable[[int], Update], str]]] = {
    "schemas": (_schema, "schemas"),
    "specs": (_spec, "partition_specs"),
    "orders": (_order, "sort_orders"),
}


def require_proportion(commit: Callable[[Iterable[Update]], object], update: Callable[[int], Update]) -> None:
    """Fail if the work of a commit grows faster than its number of updates, compared with a quarter of the updates."""
    most = MOST_UPDATES - 1
    largest, quarter = (calls_during(lambda: commit(map(update, range(each)))) for each in (most, most // 4))  # noqa: B023 (called at once)

    assert largest < 5 * quarter


class TestUpdates:
    @pytest.mark.parametrize("update", [_schema, _spec, _order, _property])
    def test_a_commit_of_too_many_updates_to_a_table_is_refused(self, update: Callable[[int], Update]) -> None:
        with pytest.raises(InvalidMetadataError, match=f"has {MOST_UPDATES + 1:,} updates; send at most 1,000"):
            _changed(_table(), map(update, range(MOST_UPDATES + 1)))

    @pytest.mark.parametrize("update", [_schema, _version, _property])
    def test_a_commit_of_too_many_updates_to_a_view_is_refused(self, update: Callable[[int], Update]) -> None:
        with pytest.raises(InvalidMetadataError, match=f"has {MOST_UPDATES + 1:,} updates; send at most 1,000"):
            _changed_view(_view(), map(update, range(MOST_UPDATES + 1)))

    def test_removals_are_not_counted(self) -> None:
        removals = [{"action": "remove-snapshot-ref", "ref-name": f"r{each}"} for each in range(MOST_UPDATES + 1)]

        assert _changed(_table(), [*removals, _property(7)]).properties["comment"] == "v7"

    @pytest.mark.parametrize("update", [_schema, _spec, _order, _property])
    def test_the_work_of_a_commit_to_a_table_is_proportional_to_its_updates(
        self, update: Callable[[int], Update]
    ) -> None:
        require_proportion(partial(_changed, _table()), update)

    @pytest.mark.parametrize("update", [_schema, _version, _property])
    def test_the_work_of_a_commit_to_a_view_is_proportional_to_its_updates(
        self, update: Callable[[int], Update]
    ) -> None:
        require_proportion(partial(_changed_view, _view()), update)


class TestTables:
    @pytest.mark.parametrize("kind", ADDED)
    def test_a_commit_that_adds_too_many_objects_of_a_kind_is_refused(self, kind: str) -> None:
        update, field = ADDED[kind]
        full = _changed(_table(), map(update, range(MOST_OBJECTS - 1)))
        assert len(getattr(full, field)) == MOST_OBJECTS

        with pytest.raises(InvalidMetadataError, match="the table would have more than 1,000"):
            _changed(full, [update(MOST_OBJECTS)])
        assert _changed(full, [update(3), _property(1)]).properties["comment"] == "v1"

    @pytest.mark.parametrize("kind", ADDED)
    def test_a_table_that_already_exceeds_the_limit_accepts_commits(self, kind: str) -> None:
        update, field = ADDED[kind]
        full = _changed(_table(), map(update, range(MOST_OBJECTS - 1)))
        more = full.model_copy(
            update={field: [*getattr(full, field), *getattr(_changed(_table(), [update(5000)]), field)[-1:]]}
        )

        check_metadata_growth(more, more)
        with pytest.raises(InvalidMetadataError):
            check_metadata_growth(full, more)

    def test_the_first_metadata_of_a_table_has_a_bounded_number_of_properties(self) -> None:
        with pytest.raises(InvalidMetadataError, match="more than 1,000 properties"):
            new_metadata(NewTable(SCHEMA, properties={f"p{each}": "" for each in range(1001)}), ID, LOCATION)

    def test_identical_objects_are_added_once(self) -> None:
        changed = _changed(
            _table(),
            [_schema(1), _schema(1), _schema(2), _spec(1), _spec(1), _order(1), _order(1), _order(2), _schema(1)],
        )

        assert [each.schema_id for each in changed.schemas] == [0, 1, 2]
        assert [each.spec_id for each in changed.partition_specs] == [0, 1]
        assert [each.order_id for each in changed.sort_orders] == [0, 1, 2]


class TestViews:
    def test_unused_schemas_of_a_view_are_removed_when_there_are_many(self) -> None:
        view = _changed_view(_view(), map(_schema, range(KEPT_SCHEMAS - 1)))
        assert len(view.schemas) == KEPT_SCHEMAS

        changed = _changed_view(view, [_schema(5000), {**_version(1)}, _current(2)])

        assert [each.schema_id for each in changed.schemas] == [0]
        assert changed.current_version_id == 2

    def test_a_schema_that_a_view_version_uses_is_not_removed(self) -> None:
        placed = _version(1)
        placed["view-version"]["schema-id"] = -1

        changed = _changed_view(_view(), [*map(_schema, range(KEPT_SCHEMAS + 1)), placed, _current(-1)])

        assert [each.schema_id for each in changed.schemas] == [0, KEPT_SCHEMAS + 1]

    def test_the_versions_and_the_version_log_of_a_view_are_bounded(self) -> None:
        view = _changed_view(_view(), map(_version, range(1, 900)))
        assert len(view.versions) == 11

        changed = _changed_view(view, (_current(each) for _ in range(200) for each in (1, 900)))

        assert len(changed.version_log) == KEPT_LOG
        assert changed.version_log[-1].version_id == changed.current_version_id == 900

    def test_an_identical_view_version_is_not_added_again(self) -> None:
        changed = _changed_view(_view(), [_version(1), _version(1), _version(0), _version(2)])

        assert [each.version_id for each in changed.versions] == [1, 2, 3]


class TestProperties:
    def test_properties_above_the_limit_are_refused_unless_the_table_already_has_them(self) -> None:
        many = {f"p{each}": "" for each in range(MOST_PROPERTIES + 5)}

        with pytest.raises(InvalidMetadataError, match="more than 1,000 properties"):
            check_property_sizes({}, many)
        check_property_sizes(many, {**many, "p1": "x"})

    def test_all_properties_together_have_a_bounded_length(self) -> None:
        large = {f"p{each}": "x" * 100_000 for each in range(11)}
        with pytest.raises(InvalidMetadataError, match=r"would have more than 1,000,000 characters in all"):
            check_property_sizes({}, large)
        check_property_sizes(large, {**large, "p0": ""})

    @pytest.mark.parametrize("long", [{"k" * (LONGEST_KEY + 1): ""}, {"k": "v" * (LONGEST_VALUE + 1)}])
    def test_a_long_property_is_refused_unless_the_table_already_has_it(self, long: dict[str, str]) -> None:
        with pytest.raises(InvalidMetadataError, match="is too long"):
            check_property_sizes({}, long)
        check_property_sizes(long, {**long, "b": ""})

    def test_a_view_property_that_is_too_long_is_refused(self) -> None:
        updates = [{"action": "set-properties", "updates": {"k": "v" * (LONGEST_VALUE + 1)}}]

        with pytest.raises(InvalidMetadataError, match="the property `k` is too long"):
            _changed_view(_view(), updates)
