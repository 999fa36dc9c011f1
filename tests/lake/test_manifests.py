"""Hostile manifest lists and manifests: refused with a sentence, without harm to the server process."""

import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from typing_extensions import override

from headgate.lake import file_parsers
from headgate.untrusted_input.blocking_pool import BlockingPool
from headgate.untrusted_input.errors import ParsersBusyError
from headgate.untrusted_input.limits import ParserLimits
from headgate.untrusted_input.pool import Charge
from tests.avro_files import (
    ENTRY,
    FILE,
    LIST,
    avro,
    block,
    deflated,
    field,
    file_values,
    header,
    listed,
    number,
    record,
    text,
)
from tests.lake.catalog_harness import CatalogHarness, served
from tests.lake.file_parsers import PARSERS

SCHEMA = Schema(NestedField(1, "d", LongType()))
LENGTH_BEYOND_THE_BLOCK = avro(LIST, 1, number(1 << 30) + b"x" * 40)
"""A length that makes PyIceberg's compiled decoder crash its process."""


class Table:
    """`raw.t` of a served catalog, and the folder of its files."""

    def __init__(self, world: CatalogHarness) -> None:
        self.world = world
        world.iceberg().create_namespace("raw")
        self.location = world.iceberg().create_table("raw.t", SCHEMA).location()

    def put(self, name: str, content: bytes) -> str:
        """Write a file like a user who can write to the table's folder."""
        path = f"{self.location}/{name}"
        file = Path(path.removeprefix("file://"))
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(content)
        return path

    def manifest_list(self, *manifests: str) -> str:
        return self.put("metadata/list.avro", avro(LIST, len(manifests), b"".join(map(listed, manifests))))

    def manifest(self, *paths: str, name: str = "metadata/m.avro") -> str:
        return self.put(name, avro(ENTRY, len(paths), b"".join(number(1) + file_values(path) for path in paths)))

    def commit(self, manifest_list: str, said: Mapping[str, int] = MappingProxyType({})) -> httpx.Response:
        snapshot = {
            "snapshot-id": 7,
            "sequence-number": 1,
            "timestamp-ms": int(time.time() * 1000),
            "manifest-list": manifest_list,
            "summary": {"operation": "append"},
            **said,
        }
        body = {"requirements": [], "updates": [{"action": "add-snapshot", "snapshot": snapshot}]}
        return self.world.call("POST", "/namespaces/raw/tables/t", body)

    def refusal(self, manifest_list: str, said: Mapping[str, int] = MappingProxyType({})) -> tuple[int, str]:
        """Send a commit, and return its refusal; check that nothing has changed and that the server still answers."""
        before = self.world.rights.store.head(), self.world.metadata_files()
        answer = self.commit(manifest_list, said)
        assert (self.world.rights.store.head(), self.world.metadata_files()) == before
        assert self.world.call("GET", "/namespaces/raw/tables/t").status_code == 200
        return answer.status_code, answer.json()["error"]["message"]


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    with served(tmp_path) as world:
        yield Table(world)


def test_a_commit_with_files_in_the_tables_folders_is_applied(table: Table) -> None:
    manifest = table.manifest(f"{table.location}/data/a.parquet")

    answer = table.commit(table.manifest_list(manifest))

    assert answer.status_code == 200, answer.text


def test_a_commit_that_names_a_missing_manifest_is_refused_as_a_bad_request(table: Table) -> None:
    for missing in (f"{table.location}/metadata/no.avro", table.manifest_list(f"{table.location}/metadata/no.avro")):
        status, why = table.refusal(missing)

        assert (status, why) == (
            400,
            "a snapshot names a manifest list or manifest that does not exist; write that file before the commit",
        )


@pytest.mark.parametrize(
    ("ahead", "words"), [(90, "is in the future"), (-86_460, "is more than a day ago")], ids=["future", "past"]
)
def test_a_snapshot_with_a_time_far_from_now_is_refused(table: Table, ahead: int, words: str) -> None:
    path = table.manifest_list(table.manifest(f"{table.location}/data/x.parquet"))

    status, message = table.refusal(path, {"timestamp-ms": int((time.time() + ahead) * 1000)})

    assert status == 400
    assert words in message


def test_a_snapshot_with_an_unknown_schema_id_is_refused(table: Table) -> None:
    path = table.manifest_list(table.manifest(f"{table.location}/data/x.parquet"))

    assert table.commit(path, {"schema-id": 0}).status_code == 200
    status, message = table.refusal(path, {"schema-id": 5, "snapshot-id": 8, "sequence-number": 2})

    assert (status, "the `schema-id` 5" in message) == (400, True)


@pytest.mark.parametrize(
    ("place", "status"), [("{}/data/a.parquet", 200), ("{}/../other/data/a.parquet", 403), ("file:/etc/passwd", 403)]
)
def test_position_deletes_of_a_data_file_outside_the_table_are_refused(table: Table, place: str, status: int) -> None:
    file = record(
        *(field(id, str(id), type) for id, type in FILE.items()), field(143, "referenced_data_file", "string")
    )
    schema = record(field(0, "status", "int"), field(2, "data_file", file))
    values = file_values(f"{table.location}/data/d.parquet", content=1) + text(place.format(table.location))
    manifest = table.put("metadata/m.avro", avro(schema, 1, number(1) + values))

    answer = table.commit(table.put("metadata/list.avro", avro(LIST, 1, listed(manifest, content=1))))

    assert answer.status_code == status, answer.text


class TestPlaces:
    """Data files are in `data/`, where engines write what their users choose; a manifest must not be there."""

    RULE = "is not directly in the folder `metadata` of the table's location"

    @pytest.mark.parametrize("place", ["data/a.avro", "a.avro", "metadata/deep/a.avro", "metadata2/a.avro"])
    def test_a_manifest_list_outside_the_metadata_folder_is_refused_before_it_is_read(
        self, table: Table, place: str
    ) -> None:
        status, why = table.refusal(table.put(place, LENGTH_BEYOND_THE_BLOCK))

        assert status == 403
        assert self.RULE in why

    @pytest.mark.parametrize("place", ["data/a.avro", "metadata/deep/a.avro"])
    def test_a_manifest_outside_the_metadata_folder_is_refused_before_it_is_read(
        self, table: Table, place: str
    ) -> None:
        manifest = table.put(place, LENGTH_BEYOND_THE_BLOCK)

        status, why = table.refusal(table.manifest_list(manifest))

        assert status == 403
        assert self.RULE in why

    def test_a_manifest_list_that_names_a_manifest_twice_is_refused(self, table: Table) -> None:
        manifest = table.manifest(f"{table.location}/data/a.parquet")

        status, why = table.refusal(table.manifest_list(manifest, manifest))

        assert (status, why) == (400, "a manifest list names the manifest `m.avro` twice; name each manifest once")

    def test_a_manifest_with_a_partition_spec_of_no_table_is_refused(self, table: Table) -> None:
        path = table.manifest(f"{table.location}/data/a.parquet")
        manifests = table.put("metadata/list.avro", avro(LIST, 1, listed(path, spec=99)))

        status, message = table.refusal(manifests)

        assert (status, "has the partition spec 99, which the table does not have" in message) == (400, True)

    @pytest.mark.parametrize("name", ["..%2fdata%2fa.avro", "deep%2Fa.avro", "deep%252fa.avro"])
    def test_a_name_that_decodes_to_another_folder_is_refused(self, table: Table, name: str) -> None:
        status, _ = table.refusal(table.put(f"metadata/{name}", LENGTH_BEYOND_THE_BLOCK))

        assert status == 403


class TestContents:
    @pytest.mark.parametrize("length", [100_000, 1 << 30, 1 << 45, 5_000, -5])
    def test_a_manifest_list_with_an_invalid_length_is_refused(self, table: Table, length: int) -> None:
        status, why = table.refusal(table.put("metadata/x.avro", avro(LIST, 1, number(length) + b"x" * 40)))

        assert status == 400
        assert why.startswith(
            "a manifest list cannot be read: a length in the Avro file is negative, or extends beyond"
        )

    def test_a_decimal_before_the_fields_of_a_manifest_list_is_refused(self, table: Table) -> None:
        """PyIceberg skips such a decimal as if it had a length, so that its digits are read as the next fields."""
        decimal = {"type": "fixed", "name": "d", "size": 16, "logicalType": "decimal", "precision": 38, "scale": 0}
        rows = avro(
            record(field(1, "d", decimal), *LIST["fields"]), 1, b"\0\x80\x80\x80\x80\x08" + bytes(10) + listed("x")
        )

        status, why = table.refusal(table.put("metadata/x.avro", rows))

        assert status == 400
        assert "the field id 1, which is not in Iceberg's specification of the record" in why

    def test_a_manifest_with_a_length_beyond_its_block_is_refused(self, table: Table) -> None:
        manifest = table.put("metadata/m.avro", avro(ENTRY, 1, number(1) + number(0) + number(1 << 30) + b"x" * 40))

        status, why = table.refusal(table.manifest_list(manifest))

        assert status == 400
        assert why.startswith("a manifest cannot be read: a length in the Avro file is negative, or extends beyond")

    @pytest.mark.parametrize("at", ["list", "manifest"])
    def test_a_decompression_bomb_is_refused_without_using_memory_of_the_server(self, table: Table, at: str) -> None:
        schema = LIST if at == "list" else ENTRY
        bomb = header(schema, "deflate") + block(1, deflated(bytes(10_000_000), times=100))
        path = table.put("metadata/x.avro", bomb)
        most = _peak()

        status, why = table.refusal(path if at == "list" else table.manifest_list(path))

        assert status == 400
        assert "larger than 128 MiB after decompression" in why
        assert _peak() - most < 100 * 1024 * 1024

    def test_an_encrypted_manifest_is_refused(self, table: Table) -> None:
        schema = record(*LIST["fields"], field(519, "key_metadata", ["null", "bytes"]))
        path = table.put("metadata/x.avro", avro(schema, 1, listed(table.manifest()) + number(1) + text("key")))

        assert table.refusal(path) == (
            403,
            "a manifest of the table is encrypted, and encrypted manifests are not supported; write it without encryption",
        )

    def test_a_commit_is_read_without_pyicebergs_decoders(self, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: Any) -> Any:
            raise AssertionError

        for module in ("pyiceberg.avro.decoder", "pyiceberg.avro.file"):
            monkeypatch.setattr(sys.modules[module], "new_decoder", fail)

        answer = table.commit(table.manifest_list(table.manifest(f"{table.location}/data/a.parquet")))

        assert answer.status_code == 200, answer.text


def _peak() -> int:
    """Return the peak memory in bytes of this process, which is also the server's."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


class FailingPool(BlockingPool):
    """A pool whose processes cannot be started."""

    @override
    def rewrite(
        self, owner: str, kind: bytes, documents: Sequence[bytes], charge: Charge, file: int | None = None
    ) -> list[bytes]:
        raise ParsersBusyError("files cannot be read at the moment")


class TestFailures:
    def test_a_commit_is_answered_with_retry_after_if_no_parser_starts(self, tmp_path: Path) -> None:
        with served(tmp_path, FailingPool()) as world:
            made = Table(world)
            answer = made.commit(made.manifest_list())

            assert (answer.status_code, answer.json()["error"]["type"]) == (503, "ServiceUnavailableException")
            assert answer.headers["retry-after"]
            assert made.refusal(made.manifest_list()) == (503, "files cannot be read at the moment")

    def test_a_manifest_that_takes_too_long_is_refused(self, tmp_path: Path) -> None:
        pool = BlockingPool(ParserLimits(wall_seconds=0.2))
        with served(tmp_path, pool) as world:
            made = Table(world)
            pool.rewrite("ann", b"json", [b"1"], lambda _: None)  # now the launcher runs
            many = made.manifest(*[f"{made.location}/data/{each}.parquet" for each in range(100_000)])

            status, why = made.refusal(made.manifest_list(many))

            assert (status, why) == (
                400,
                "a manifest cannot be read: the file takes too long to read; write smaller files",
            )
        pool.close()

    def test_a_request_that_names_too_many_files_is_refused(
        self, table: Table, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(file_parsers, "MAX_ANSWER_BYTES", 1_000)
        parsers = file_parsers.FileParsers(PARSERS, "ann")
        content = Path(table.manifest(*["p" * 100] * 5).removeprefix("file://")).read_bytes()

        assert len(parsers.read_manifests([content])[0]) == 5
        with pytest.raises(file_parsers.InvalidMetadataError, match="expire snapshots of the table first"):
            parsers.read_manifests([content])
