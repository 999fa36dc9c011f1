"""A privilege that is revoked while a commit writes its files: the commit is refused, and its files are deleted."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from headgate.lake.catalog import TableCatalog
from headgate.lake.view_catalog import ViewCatalog
from tests.endpoints.iceberg_rest.test_views import SCHEMA, version
from tests.lake.catalog_harness import LAKE, CatalogHarness, served

ED = "ed"
TABLE, VIEW = "/namespaces/raw/tables/t", "/namespaces/raw/views/v"
COMMENT = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"comment": "new"}}]}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[CatalogHarness]:
    with served(tmp_path) as made:
        made.iceberg().create_namespace("raw")
        made.iceberg().create_table("raw.t", pa.schema([("id", pa.string())]))
        body = {"name": "v", "schema": SCHEMA.model_dump(), "view-version": version(), "properties": {}}
        made.call("POST", "/namespaces/raw/views", body).raise_for_status()
        for name in ("t", "v"):
            made.rights.allow(ED, (*LAKE, "raw", name), "*")
        yield made


@pytest.mark.parametrize(("catalog", "path"), [(TableCatalog, TABLE), (ViewCatalog, VIEW)], ids=["table", "view"])
def test_a_commit_is_refused_if_its_privilege_is_revoked_while_its_files_are_written(
    world: CatalogHarness, monkeypatch: pytest.MonkeyPatch, catalog: type[object], path: str
) -> None:
    before, write = world.metadata_files(), catalog._write  # type: ignore[attr-defined]

    def write_then_revoke(*arguments: object) -> object:
        written = write(*arguments)
        world.rights.revoke(ED, "table.describe")
        return written

    with monkeypatch.context() as patched:
        patched.setattr(catalog, "_write", write_then_revoke)
        answer = world.call("POST", path, COMMENT, by=ED)

    assert answer.status_code == 403, answer.text
    assert "comment" not in world.call("GET", path).json()["metadata"].get("properties", {})
    assert world.metadata_files() == before
    assert world.call("POST", path, COMMENT).status_code == 200


def test_a_transaction_is_refused_if_its_privilege_is_revoked_while_its_files_are_written(
    world: CatalogHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, write = world.metadata_files(), TableCatalog._write

    def write_then_revoke(*arguments: object) -> object:
        written = write(*arguments)  # type: ignore[arg-type]
        world.rights.revoke(ED, "table.describe")
        return written

    monkeypatch.setattr(TableCatalog, "_write", write_then_revoke)
    body = {"table-changes": [{"identifier": {"namespace": ["raw"], "name": "t"}, **COMMENT}]}
    answer = world.call("POST", "/transactions/commit", body, by=ED)

    assert answer.status_code == 403, answer.text
    assert world.metadata_files() == before
