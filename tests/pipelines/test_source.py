"""Sources on Spark: files of each format in each mode, columns that change, and rows that do not fit."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from headgate.facts.ids import RunId
from headgate.pipelines.execution import Range
from headgate.pipelines.kinds import defined, touches
from headgate.pipelines.loading.errors import LoadError
from headgate.pipelines.place import FolderPlace, HttpPlace
from tests.pipelines.api_server import Asked, Given, api_server
from tests.pipelines.by_hand import ByHand, Told, by_hand


def source(*streams: Mapping[str, Any], name: str = "load", kind: str = "source") -> dict[str, Any]:
    """A source of the folder."""
    return {"kind": kind, "name": name, "connection": "files", "streams": [dict(each) for each in streams]}


def stream(name: str, **more: Any) -> dict[str, Any]:
    """A stream of the file that is called as it is, into the table that is too."""
    place = {} if more.keys() & {"path", "table", "prefix"} else {"file": f"{name}.csv"}
    return {"name": name, "into": f"lake.raw.{name}", **place, **more}


class TestADefinition:
    @pytest.mark.parametrize(
        ("more", "said"),
        [
            ({"mode": "incremental"}, "needs a `cursor`"),
            ({"mode": "upsert"}, "needs a `key`"),
            ({"prefix": "late_", "file": "late.csv"}, "`file` or `prefix`"),
            ({"file": None}, "`file` or `prefix`"),
            ({"file": "../other.csv"}, "pattern"),
            ({"path": "/../other"}, "leads down"),
            ({"path": "/%2e%2e/other"}, "leads down"),
            ({"path": "/a?b"}, "pattern"),
            ({"table": "flights"}, "pattern"),
            ({"format": "orc"}, "'csv', 'json', 'json_lines' or 'parquet'"),
            ({"path": "/a", "file": "a.csv"}, "Extra inputs"),
        ],
    )
    def test_says_all_that_its_streams_need(self, more: dict[str, Any], said: str) -> None:
        with pytest.raises(ValidationError, match=said):
            defined(source(stream("a", **more)))

    @pytest.mark.parametrize("other", [stream("a"), stream("b") | {"into": "lake.raw.a"}])
    def test_has_each_stream_and_each_table_once(self, other: dict[str, Any]) -> None:
        with pytest.raises(ValidationError, match="two streams have the"):
            defined(source(stream("a"), other))

    def test_declares_the_tables_of_bad_rows_too(self) -> None:
        found = touches(defined(source(stream("a", bad_rows="quarantine"), stream("b", enabled=False))))

        assert [(each.table, each.enabled) for each in found.outputs] == [
            ("lake.raw.a", True),
            ("lake.raw.a_quarantine", True),
            ("lake.raw.b", False),
        ]
        assert found.others == {"connections": ("files",)}

    def test_may_have_no_streams_where_others_read_through_it(self) -> None:
        assert touches(defined(source())).outputs == ()


class Loaded:
    """A deployment with a connection to a folder of the test's."""

    def __init__(self, lake: ByHand, folder: Path) -> None:
        self.lake = lake
        self.folder = folder
        lake.owner.call("POST", "/connections", {"name": "files", "folder": str(folder)})

    def write(self, name: str, *lines: str) -> None:
        """Write a file of text."""
        (self.folder / name).write_text("".join(f"{line}\n" for line in lines))

    def load(self, *streams: Mapping[str, Any], **changed: Any) -> Told:
        """Carry out a run of a source with these streams."""
        return self.lake.run(source(*streams), **changed)

    def rows(self, table: str, columns: str = "*") -> list[tuple[Any, ...]]:
        """The rows of a table in some order that is always the same."""
        return self.lake.rows(f"SELECT {columns} FROM lake.raw.{table} ORDER BY ALL")


@pytest.mark.spark
class TestOnSpark:
    @pytest.fixture(scope="class")
    @staticmethod
    def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loaded]:
        folder = tmp_path_factory.mktemp("source")
        (folder / "files").mkdir()
        with by_hand(folder / "data") as made:
            yield Loaded(made, folder / "files")

    def test_loads_in_full_each_time(self, lake: Loaded) -> None:
        whole = stream("full", columns="id INT, word STRING, at TIMESTAMP", null_value="NA")
        lake.write("full.csv", "id,word,at", "1,one,2013-01-01T10:00:00Z", "2,NA,NA")
        told = lake.load(whole)
        lake.write("full.csv", "id,word,at", "3,three,NA")
        lake.load(whole)

        assert told.lines[-1] == "stream `full`: 2 rows in lake.raw.full"
        assert told.metrics == {"rows.lake.raw.full": 2}
        assert lake.rows("full") == [(3, "three", None)]
