"""Tables of format version 3 over the REST catalog: created, upgraded, committed to, and never malformed."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from tests.lake.catalog_harness import ZSTD, CatalogHarness, served
from tests.lake.staged_table import build_create_commit
from tests.lake.table_v3 import BAD_DEFAULTS, BAD_TYPES, DEFAULTS, NEW_TYPES

Document = dict[str, Any]

ROWS = pa.table({"name": ["a", "b"], "amount": [1, 2]})
SCHEMA = Schema(NestedField(1, "name", StringType()), NestedField(2, "amount", LongType()))
PLAIN = SCHEMA.model_dump(by_alias=True)
V3 = {"format-version": "3"}
UPGRADE = {"action": "upgrade-format-version", "format-version": 3}
CURRENT = {"action": "set-current-schema", "schema-id": -1}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CatalogHarness]:
    """`raw.old` has two rows of format version 2, and `raw.new` two such rows after its upgrade to version 3."""
    with served(tmp_path_factory.mktemp("v3")) as made:
        admin = made.iceberg()
        admin.create_namespace("raw")
        for name in ("old", "new"):
            admin.create_table(f"raw.{name}", SCHEMA).append(ROWS)
        assert made.commit("new", UPGRADE).status_code == 200
        yield made


def _schema(*columns: Document) -> Document:
    return {**PLAIN, "fields": [*PLAIN["fields"], *columns]}


def _column(type: Any, id: int = 3, **more: Any) -> Document:
    return {"id": id, "name": f"c{id}", "type": type, "required": False, **more}


def _added(*columns: Document) -> Document:
    return {"action": "add-schema", "schema": _schema(*columns), "last-column-id": 99}


def _write_list(world: CatalogHarness, name: str, **more: Any) -> str:
    """Write the manifest list of the table's last snapshot again, in version 3; return its path."""
    metadata = world.metadata(name)
    old = Path(metadata["snapshots"][-1]["manifest-list"].removeprefix("file://"))
    with old.open("rb") as stream:
        reader: Any = fastavro.reader(stream)
        schema, manifests = reader.writer_schema, list(reader)
    fields = [each for each in schema["fields"] if each["name"] != "first_row_id"]
    fields.append({"name": "first_row_id", "type": ["null", "long"], "default": None, "field-id": 520})
    path = old.with_name(f"snap-{time.monotonic_ns()}.avro")
    with path.open("wb") as stream:
        fastavro.writer(
            stream, {**schema, "fields": fields}, [{"first_row_id": 0, **each, **more} for each in manifests]
        )
    return f"file://{path}"


def _snapshot(world: CatalogHarness, name: str, **more: Any) -> Document:
    """Return a snapshot that keeps the rows of the current one; None leaves a member out."""
    metadata = world.metadata(name)
    head = metadata["snapshots"][-1]
    made = {
        **head,
        "snapshot-id": time.monotonic_ns(),
        "parent-snapshot-id": head["snapshot-id"],
        "sequence-number": metadata["last-sequence-number"] + 1,
        "timestamp-ms": int(time.time() * 1000),
        "first-row-id": metadata.get("next-row-id"),
        "added-rows": 0,
        **{key.replace("_", "-"): value for key, value in more.items()},
    }
    return {"action": "add-snapshot", "snapshot": {key: value for key, value in made.items() if value is not None}}


def _fields(id: str, **more: Any) -> Document:
    """Return a partition spec or sort order of the first column."""
    field = {"source-id": 1, "transform": "identity", **more}
    of = {"order-id": {"direction": "asc", "null-order": "nulls-first"}, "spec-id": {"field-id": 1000, "name": "p"}}
    return {id: 1, "fields": [{**field, **of[id]}]}


def _create(world: CatalogHarness, name: str, schema: Document, **more: Any) -> Any:
    body = {"name": name, "schema": schema, "properties": V3, **more}
    return world.call("POST", "/namespaces/raw/tables", body)


class TestWorkingWithVersion3:
    def test_a_table_with_every_new_type_and_default_is_created_and_loaded(self, world: CatalogHarness) -> None:
        typed = [_column(type, 3 + at) for at, type in enumerate(NEW_TYPES)]
        given = [
            _column(type, 30 + at, **{"initial-default": values[0], "write-default": values[-1]})
            for at, (type, values) in enumerate(DEFAULTS.items())
        ]
        nested = _column({"type": "struct", "fields": [_column("int", 91, **{"initial-default": 7})]}, 90)

        answer = _create(world, "typed", _schema(*typed, *given, nested))

        assert answer.status_code == 200, answer.text
        metadata = world.metadata("typed")
        fields = {each["name"]: each for each in metadata["schemas"][0]["fields"]}
        assert (metadata["format-version"], metadata["next-row-id"], metadata["properties"]) == (3, 0, ZSTD)
        assert [fields[each["name"]]["type"] for each in typed] == list(NEW_TYPES)
        for each in given:
            made = fields[each["name"]]
            for key in ("initial-default", "write-default"):
                assert str(made[key]).lower() == str(each[key]).lower()
        assert fields["c90"]["type"]["fields"][0]["initial-default"] == 7

    def test_a_table_is_staged_and_created_by_its_first_commit(self, world: CatalogHarness) -> None:
        metadata = _create(world, "staged", _schema(_column("variant")), **{"stage-create": True}).json()["metadata"]
        commit = build_create_commit(metadata, 3)
        commit["updates"].append({"action": "set-properties", "updates": metadata["properties"]})

        answer = world.call("POST", "/namespaces/raw/tables/staged", commit)

        assert answer.status_code == 200, answer.text
        loaded = world.metadata("staged")
        assert (loaded["format-version"], loaded["next-row-id"], loaded["properties"]) == (3, 0, ZSTD)
        assert loaded["schemas"][0]["fields"][2]["type"] == "variant"

    def test_an_upgraded_table_keeps_its_snapshots_and_assigns_row_ids_from_0(self, world: CatalogHarness) -> None:
        world.iceberg().create_table("raw.grown", SCHEMA).append(ROWS)
        before = world.metadata("grown")

        assert world.commit("grown", UPGRADE).status_code == 200
        upgraded = world.metadata("grown")
        first = _snapshot(world, "grown", added_rows=2, manifest_list=_write_list(world, "grown"))
        assert world.commit("grown", first).status_code == 200

        assert upgraded["snapshots"] == before["snapshots"]
        assert len(upgraded["metadata-log"]) == len(before["metadata-log"]) + 1
        assert world.metadata("grown")["next-row-id"] == 2

    def test_an_upgrade_needs_the_privilege_to_alter_the_table(self, world: CatalogHarness) -> None:
        world.iceberg().create_table("raw.guarded", SCHEMA)
        world.rights.allow("wim", ("lake", "raw", "guarded"), "table.select", "table.insert", "table.describe")

        refused = world.commit("guarded", UPGRADE, by="wim")

        assert refused.status_code == 403
        assert world.metadata("guarded")["format-version"] == 2

    def test_a_commit_that_comes_too_late_is_a_conflict(self, world: CatalogHarness) -> None:
        world.iceberg().create_table("raw.raced", SCHEMA).append(ROWS)
        world.commit("raced", UPGRADE)
        files = {"added_rows": 2, "manifest_list": _write_list(world, "raced")}
        late = _snapshot(world, "raced", **files)
        assert world.commit("raced", _snapshot(world, "raced", **files)).status_code == 200
        late["snapshot"]["sequence-number"] += 1

        assert world.commit("raced", late).status_code == 409

    def test_a_write_default_may_change_and_an_initial_default_may_not(self, world: CatalogHarness) -> None:
        self._make(world, "defaults", _column("int", **{"initial-default": 1, "write-default": 1}))

        changed = _added(_column("int", **{"initial-default": 1, "write-default": 2}))
        assert world.commit("defaults", changed, CURRENT).status_code == 200
        for forged in (
            _column("int", **{"initial-default": 2}),
            _column("int"),
            {**_column("int", **{"initial-default": 1}), "id": 2},
        ):
            assert world.commit("defaults", _added(forged), CURRENT).status_code in (400, 403)
        assert world.metadata("defaults")["schemas"][-1]["fields"][2]["write-default"] == 2

    @pytest.mark.parametrize(
        ("types", "defaults"),
        [
            (("float", "double"), (0.1, 0.10000000149011612)),
            (("int", "long"), (7, 7)),
            (("decimal(9, 2)", "decimal(18, 2)"), ("1.50", "1.50")),
        ],
    )
    def test_a_promoted_column_keeps_its_default(
        self, world: CatalogHarness, types: tuple[str, str], defaults: tuple[Any, Any]
    ) -> None:
        name = f"promoted_{types[1][:4]}"
        self._make(world, name, _column(types[0], **{"initial-default": defaults[0]}))

        promoted = _added(_column(types[1], **{"initial-default": defaults[1]}))

        assert world.commit(name, promoted, CURRENT).status_code == 200

    def test_a_replaced_table_has_other_defaults(self, world: CatalogHarness) -> None:
        self._make(world, "replaced", _column("int", **{"initial-default": 1}))
        emptied = {"action": "remove-snapshot-ref", "ref-name": "main"}

        for default in (2, None):
            changed = _added({**_column("int"), "initial-default": default})
            assert world.commit("replaced", changed, CURRENT).status_code == 403
            assert world.commit("replaced", emptied, changed, CURRENT).status_code == 200
            back = {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch"}
            head = world.metadata("replaced")["snapshots"][-1]["snapshot-id"]
            assert world.commit("replaced", {**back, "snapshot-id": head}).status_code == 200

    def test_a_replaced_table_with_rows_in_a_branch_keeps_its_defaults(self, world: CatalogHarness) -> None:
        self._make(world, "branched", _column("int", **{"initial-default": 1}))
        head = world.metadata("branched")["snapshots"][-1]["snapshot-id"]
        branch = {"action": "set-snapshot-ref", "ref-name": "dev", "type": "branch", "snapshot-id": head}
        emptied = {"action": "remove-snapshot-ref", "ref-name": "main"}
        assert world.commit("branched", branch, emptied).status_code == 200

        answer = world.commit("branched", _added(_column("int", **{"initial-default": 2})), CURRENT)

        assert answer.status_code == 403

    def _make(self, world: CatalogHarness, name: str, column: Document) -> None:
        """Make a table of version 3 with rows, and add a column."""
        world.iceberg().create_table(f"raw.{name}", SCHEMA).append(ROWS)
        answer = world.commit(name, UPGRADE, _added(column), CURRENT)
        assert answer.status_code == 200, answer.text


MALFORMED: dict[str, list[Any]] = {
    "a downgrade": [{**UPGRADE, "format-version": 2}],
    "a version of the future": [{**UPGRADE, "format-version": 4}],
    "a version as text": [{**UPGRADE, "format-version": "three"}],
    "a negative version": [{**UPGRADE, "format-version": -3}],
    "encryption keys": [{"action": "add-encryption-key", "encryption-key": {"key-id": "k", "encrypted-key-metadata": ""}}],
    "a removed encryption key": [{"action": "remove-encryption-key", "key-id": "k"}],
    "a spec of two columns": [
        {
            "action": "add-spec",
            "spec": {"spec-id": 1, "fields": [{"source-ids": [1, 2], "field-id": 1000, "name": "p", "transform": "bucket[4]"}]},
        }
    ],
    "a spec of one column and two": [{"action": "add-spec", "spec": _fields("spec-id", **{"source-ids": [1, 2]})}],
    "an order of one column and two": [
        {"action": "add-sort-order", "sort-order": _fields("order-id", **{"source-ids": [1, 2]})}
    ],
    "a spec of a variant": [
        _added(_column("variant")),
        CURRENT,
        {
            "action": "add-spec",
            "spec": {"spec-id": 1, "fields": [{"source-id": 3, "field-id": 1000, "name": "p", "transform": "identity"}]},
        },
        {"action": "set-default-spec", "spec-id": -1},
    ],
    "an order of a geometry": [
        _added(_column("geometry")),
        CURRENT,
        {
            "action": "add-sort-order",
            "sort-order": {
                "order-id": 1,
                "fields": [{"source-id": 3, "transform": "identity", "direction": "asc", "null-order": "nulls-first"}],
            },
        },
        {"action": "set-default-sort-order", "sort-order-id": -1},
    ],
    "a column id twice": [_added(_column("variant", 2)), CURRENT],
    "a nested column that is no object": [_added(_column({"type": "struct", "fields": ["decimal(9, 2)"]})), CURRENT],
    "a field of an order that is no object": [{"action": "add-sort-order", "sort-order": {"order-id": 1, "fields": ["a"]}}],
    "a field of a spec that is no object": [{"action": "add-spec", "spec": {"spec-id": 1, "fields": ["a"]}}],
    "a snapshot that is no object": [{"action": "add-snapshot", "snapshot": "a"}],
    "a list as an update": [["add-spec"]],
    "a deeply nested column": [
        {
            "action": "add-schema",
            "schema": _schema(
                _column(json.loads('{"type":"list","element-id":5,"element-required":false,"element":' * 150 + '"int"' + "}" * 150))
            ),
        },
        CURRENT,
    ],
    "a required unknown": [_added({**_column("unknown"), "required": True}), CURRENT],
    "an unknown action": [{"action": "set-next-row-id", "next-row-id": 0}],
    **{f"the type {type[:20]}": [_added(_column(type)), CURRENT] for type in BAD_TYPES},
    **{
        f"{key} {type} {value!r}": [_added(_column(type, **{key: value})), CURRENT]
        for key in ("initial-default", "write-default")
        for type, values in BAD_DEFAULTS.items()
        for value in values
    },
}  # fmt: skip
SNAPSHOTS: dict[str, Document] = {
    "no first row id": {"first_row_id": None},
    "no rows": {"added_rows": None},
    "a negative first row id": {"first_row_id": -1},
    "negative rows": {"added_rows": -1},
    "a first row id of the future": {"first_row_id": 1 << 20},
    "more rows than can be": {"added_rows": 1 << 62},
    "rows as text": {"added_rows": "many"},
    "a number beyond 64 bits": {"added_rows": 1 << 70},
    "an encrypted manifest list": {"key_id": "k"},
    "no manifest list": {"manifest_list": None},
    "the manifests of version 1": {"manifest_list": None, "manifests": ["file:/etc/passwd"]},
    "a sequence number of the future": {"sequence_number": 1 << 40},
}


class TestUnknownMembers:
    def test_a_member_that_the_specification_does_not_have_is_ignored(self, world: CatalogHarness) -> None:
        said = {"action": "set-properties", "updates": {"my.note": "1"}, "of-the-future": True}

        assert world.commit("new", said).status_code == 200

    @pytest.mark.parametrize(("key", "id"), [("partition-spec", "spec-id"), ("write-order", "order-id")])
    def test_a_table_with_a_transform_of_two_columns_is_not_created(
        self, world: CatalogHarness, key: str, id: str
    ) -> None:
        refused = _create(world, "several", PLAIN, **{key: _fields(id, **{"source-ids": [1, 2]})})
        created = _create(world, f"one_{id[0]}", PLAIN, **{key: _fields(id, **{"source-ids": [1]})})

        assert (refused.status_code, "several `source-ids`" in refused.text) == (400, True)
        assert created.status_code == 200, created.text


class TestForgedRowIds:
    @pytest.mark.parametrize(
        ("files", "said"),
        [
            ({"first_row_id": None}, {"added_rows": 2}),
            ({"first_row_id": 0}, {"added_rows": 1}),
            ({"first_row_id": 1}, {"added_rows": 2}),
            ({"first_row_id": -1}, {"added_rows": 2}),
            ({"content": 1}, {"added_rows": 2}),
        ],
        ids=["none", "too many", "beyond the range", "below the range", "of deletes"],
    )
    def test_a_snapshot_with_forged_row_ids_is_refused(
        self, world: CatalogHarness, files: Document, said: Document
    ) -> None:
        before = world.metadata("new")
        path = _write_list(world, "new", **files)

        answer = world.commit("new", _snapshot(world, "new", manifest_list=path, **said))

        assert answer.status_code == 400, answer.text
        assert world.metadata("new") == before

    def test_a_snapshot_that_assigns_row_ids_a_second_time_is_refused(self, world: CatalogHarness) -> None:
        world.iceberg().create_table("raw.twice", SCHEMA).append(ROWS)
        world.commit("twice", UPGRADE)
        path = _write_list(world, "twice")
        assert world.commit("twice", _snapshot(world, "twice", added_rows=2, manifest_list=path)).status_code == 200

        again = _snapshot(world, "twice", added_rows=2, manifest_list=_write_list(world, "twice", first_row_id=2))
        same = _snapshot(world, "twice", manifest_list=path)

        assert "another `first_row_id`" in world.commit("twice", again).text
        assert world.commit("twice", same).status_code == 200

    def test_a_table_of_version_2_gets_no_row_ids(self, world: CatalogHarness) -> None:
        path = _write_list(world, "old")

        answer = world.commit("old", _snapshot(world, "old", manifest_list=path, first_row_id=None, added_rows=None))

        assert (answer.status_code, "tables of format version 2 have no row ids" in answer.text) == (400, True)

    def test_a_metadata_file_with_row_ids_from_its_next_one_on_is_not_registered(self, world: CatalogHarness) -> None:
        world.iceberg().create_table("raw.forged", SCHEMA).append(ROWS)
        world.commit("forged", UPGRADE)
        path = _write_list(world, "forged")
        assert world.commit("forged", _snapshot(world, "forged", added_rows=2, manifest_list=path)).status_code == 200
        loaded = world.call("GET", "/namespaces/raw/tables/forged").json()
        file = Path(loaded["metadata-location"].removeprefix("file://"))
        world.call("DELETE", "/namespaces/raw/tables/forged")
        body = {"name": "forged", "metadata-location": loaded["metadata-location"]}
        metadata = loaded["metadata"]
        snapshots = [{**each, "added-rows": 1} if "added-rows" in each else each for each in metadata["snapshots"]]

        file.write_text(json.dumps({**metadata, "next-row-id": 1, "snapshots": snapshots}))
        refused = world.call("POST", "/namespaces/raw/register", body)
        file.write_text(json.dumps(metadata))

        assert (refused.status_code, "from the table's `next-row-id` on" in refused.text) == (400, True)
        assert world.call("POST", "/namespaces/raw/register", body).status_code == 200


class TestMalformedCommits:
    @pytest.mark.parametrize("case", MALFORMED)
    def test_a_malformed_update_is_a_problem_and_changes_nothing(self, world: CatalogHarness, case: str) -> None:
        before = world.metadata("new")

        answer = world.commit("new", *MALFORMED[case])

        assert answer.status_code == 400, answer.text
        assert answer.json()["error"]["message"]
        assert world.metadata("new") == before

    @pytest.mark.parametrize("case", SNAPSHOTS)
    def test_a_malformed_snapshot_is_a_problem_and_changes_nothing(self, world: CatalogHarness, case: str) -> None:
        before = world.metadata("new")

        answer = world.commit("new", _snapshot(world, "new", **SNAPSHOTS[case]))

        assert answer.status_code == 400, answer.text
        assert world.metadata("new") == before

    @pytest.mark.parametrize(
        ("column", "status"),
        [
            (_column("variant"), 403),
            (_column("geometry"), 403),
            (_column("unknown"), 403),
            (_column("timestamp_ns"), 403),
            (_column("int", **{"initial-default": 1}), 403),
            (_column({"type": "struct", "fields": [_column("variant", 4)]}), 403),
        ],
    )
    def test_a_table_of_version_2_gets_nothing_of_version_3(
        self, world: CatalogHarness, column: Document, status: int
    ) -> None:
        before = world.metadata("old")

        assert world.commit("old", _added(column), CURRENT).status_code == status
        body = {"name": "x", "schema": _schema(column)}
        assert world.call("POST", "/namespaces/raw/tables", body).status_code == status
        assert world.metadata("old") == before

    @pytest.mark.parametrize("key", ["format-version", "Format-Version"])
    def test_a_format_version_among_the_properties_of_a_commit_is_refused(
        self, world: CatalogHarness, key: str
    ) -> None:
        before = world.metadata("old")

        answer = world.commit("old", {"action": "set-properties", "updates": {key: "3"}})

        assert (answer.status_code, "upgrade-format-version" in answer.text) == (403, True)
        assert world.metadata("old") == before

    def test_a_new_table_takes_its_format_version_from_the_property_in_lower_case_only(
        self, world: CatalogHarness
    ) -> None:
        body = {"name": "x", "schema": _schema(_column("int")), "properties": {"Format-Version": "3"}}

        assert world.call("POST", "/namespaces/raw/tables", body).status_code == 403

    def test_a_snapshot_with_row_ids_is_refused_in_a_table_of_version_2(self, world: CatalogHarness) -> None:
        before = world.metadata("old")

        assert world.commit("old", _snapshot(world, "old", first_row_id=0)).status_code == 400
        assert world.metadata("old") == before

    @pytest.mark.parametrize("case", [each for each in MALFORMED if each.startswith(("the type", "initial-default"))])
    def test_a_malformed_table_is_not_created(self, world: CatalogHarness, case: str) -> None:
        schema = MALFORMED[case][0]["schema"]

        for staged in (False, True):
            assert _create(world, "bad", schema, **{"stage-create": staged}).status_code == 400
        assert world.call("HEAD", "/namespaces/raw/tables/bad").status_code == 404

    def test_a_metadata_file_with_malformed_row_lineage_is_not_registered(self, world: CatalogHarness) -> None:
        _create(world, "dropped", _schema(_column("variant")))
        loaded = world.call("GET", "/namespaces/raw/tables/dropped").json()
        path = Path(loaded["metadata-location"].removeprefix("file:").replace("///", "/"))
        world.call("DELETE", "/namespaces/raw/tables/dropped")
        body = {"name": "again", "metadata-location": loaded["metadata-location"]}

        for change in ({"next-row-id": -1}, {"next-row-id": None}, {"encryption-keys": [{"key-id": "k"}]}):
            path.write_text(json.dumps({**loaded["metadata"], **change}))
            assert world.call("POST", "/namespaces/raw/register", body).status_code == 400
        path.write_text(json.dumps(loaded["metadata"]))

        assert world.call("POST", "/namespaces/raw/register", body).status_code == 200
        assert world.metadata("again")["next-row-id"] == 0
