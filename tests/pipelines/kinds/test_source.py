"""Sources on Spark: files of each format in each mode, changed columns, and rows that do not match."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.control.kernel.ids import new_id
from headgate.facts.ids import RunId
from headgate.pipelines.connections.targets import HttpPlace
from headgate.pipelines.definitions.context import Range
from headgate.pipelines.kinds import kind_of, parse_definition
from headgate.pipelines.kinds.source import SourceDefinition
from headgate.pipelines.load_errors import LoadError
from headgate.pipelines.loading.load import load
from tests.egress import open_egress
from tests.pipelines.api_server import Asked, Given, api_server
from tests.pipelines.sources import source, stream
from tests.pipelines.spark_deployment import ByHand, Told
from tests.postgres import USER, PostgresServer

NESTED = "the column `n` cannot be loaded: its type STRUCT<`x`: BIGINT> in the data cannot be cast to its type INT"


class Loaded:
    """A deployment with a connection to a temporary folder of the test."""

    def __init__(self, lake: ByHand, folder: Path) -> None:
        self.lake = lake
        self.folder = folder
        lake.owner.call("POST", "/connections", {"name": "files", "folder": str(folder)})

    def write(self, name: str, *lines: str) -> None:
        """Write a text file."""
        (self.folder / name).write_text("".join(f"{line}\n" for line in lines))

    def load(self, *streams: Mapping[str, Any], **changed: Any) -> Told:
        """Execute a run of a source with these streams."""
        return self.lake.run(source(*streams), **changed)

    def refused(self, *streams: Mapping[str, Any], part: Range | None = None) -> list[str]:
        """Return the error of each stream of one run, tried one after the other."""
        self.lake.save(source(*streams))
        said = list[str]()
        with self.lake.execution("load", part=part) as (execution, _):
            for each in SourceDefinition.model_validate(source(*streams)).streams:
                with pytest.raises(LoadError) as raised:
                    load(each, "files", execution)
                said.append(str(raised.value))
        return said

    def rows(self, table: str, columns: str = "*") -> list[tuple[Any, ...]]:
        """Return the rows of a table, always in the same order."""
        return self.lake.rows(f"SELECT {columns} FROM lake.raw.{table} ORDER BY ALL")


@pytest.fixture(scope="module")
def lake(lake: ByHand, tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    return Loaded(lake, tmp_path_factory.mktemp("source"))


pytestmark = pytest.mark.spark


class TestFiles:
    def test_files_are_loaded_in_full_each_time(self, lake: Loaded) -> None:
        whole = stream("full", columns="id INT, word STRING, at TIMESTAMP", null_value="NA")
        lake.write("full.csv", "id,word,at", "1,one,2013-01-01T10:00:00Z", "2,NA,NA")
        told = lake.load(whole)
        lake.write("full.csv", "id,word,at", "3,three,NA")
        lake.load(whole)

        assert told.lines[-1] == "stream `full`: 2 rows in lake.raw.full"
        assert told.metrics == {"rows.lake.raw.full": 2}
        assert lake.rows("full") == [(3, "three", None)]

    def test_columns_of_files_are_matched_by_name(self, lake: Loaded) -> None:
        several = stream("places", prefix="places_", columns="id INT, word STRING")
        lake.write("places_1.csv", "id,word", "1,one")
        lake.write("places_2.csv", "WORD,more,id", "two,2.5,2")
        lake.write("_places_3.csv", "half written")

        lake.load(several)

        assert lake.rows("places", "id, word, more") == [(1, "one", None), (2, "two", "2.5")]

    def test_json_documents_json_lines_and_parquet_folders_load_the_same_rows(self, lake: Loaded) -> None:
        rows = [{"id": 1, "in": {"x": [1, 2]}}, {"id": 2, "in": {"x": None}}]
        lake.write("documents.json", json.dumps(rows, indent=1))
        lake.write("lines.json", *map(json.dumps, rows))
        (lake.folder / "folder").mkdir()
        for at, row in enumerate(rows):
            table = pa.table({"id": [row["id"]], "in": pa.array([row["in"]], pa.struct({"x": pa.list_(pa.int64())}))})
            pq.write_table(table, lake.folder / "folder" / f"{at}.parquet")

        lake.load(
            stream("documents", file="documents.json", format="json"),
            stream("lines", file="lines.json", format="json_lines"),
            stream("folder", file="folder", format="parquet"),
        )

        assert lake.rows("documents", "id, in.x") == [(1, [1, 2]), (2, None)]
        assert lake.rows("lines") == lake.rows("documents") == lake.rows("folder")

    def test_a_missing_or_damaged_file_leaves_the_table_unchanged(self, lake: Loaded) -> None:
        lake.lake.spark.sql("CREATE TABLE lake.raw.torn AS SELECT 1 AS id, 'was' AS word")
        two = "id INT, word STRING"
        torn = {
            "gone.csv": (None, "csv", two, "there is no file `gone.csv` in the connection's folder"),
            "empty.csv": ("", "csv", two, "`empty.csv` is empty"),
            "torn.csv": (
                "id,word\n1,one\n2",
                "csv",
                two,
                "torn.csv: the row does not fit the columns; columns without a value: word: 2;",
            ),
            "torn.json": ('{"id": 1}\n{"id": ', "json_lines", two, "torn.json: the row does not fit the columns"),
            "torn.parquet": (
                "PAR1 and no more",
                "parquet",
                two,
                "`torn.parquet` in the connection's folder: the file is not a Parquet file",
            ),
            "damaged.parquet": (
                None,
                "parquet",
                "",
                "`damaged.parquet` in the connection's folder: the metadata of the Parquet file is malformed",
            ),
            "nothing.json": ("", "json_lines", "", "declare them in `columns`"),
            "lines.json": ('{"id": 1}\n{"id": 2}', "json", two, "set `format` to `json_lines`"),
        }
        pq.write_table(pa.table({"id": list(range(1000))}), lake.folder / "damaged.parquet")
        whole = (lake.folder / "damaged.parquet").read_bytes()
        (lake.folder / "damaged.parquet").write_bytes(whole[:4] + bytes(400) + whole[404:])
        streams = []
        for file, (content, kind, columns, _) in torn.items():
            if content is not None:
                (lake.folder / file).write_text(content)
            table = "torn" if file == "torn.csv" else file.replace(".", "_")
            streams.append(stream(table, file=file, format=kind, columns=columns))

        said = lake.refused(*streams)

        for sentence, (_, _, _, expected), one in zip(said, torn.values(), streams, strict=True):
            assert sentence.startswith(f"stream `{one['name']}`: ")
            assert expected in sentence
        assert lake.rows("torn") == [(1, "was")]


class TestIncremental:
    def test_an_incremental_load_adds_the_rows_above_the_highest_cursor(self, lake: Loaded) -> None:
        growing = stream("growing", mode="incremental", cursor="id", columns="id INT, word STRING")
        lake.write("growing.csv", "id,word", "1,one", "2,two")
        lake.load(growing)
        lake.write("growing.csv", "id,word", "1,other", "2,other", "3,three")
        told = lake.load(growing)

        assert lake.rows("growing") == [(1, "one"), (2, "two"), (3, "three")]
        assert told.metrics == {"rows.lake.raw.growing": 1}

    @pytest.mark.soak
    def test_an_incremental_load_compares_times_across_time_zones(self, lake: Loaded) -> None:
        timed = stream("timed", mode="incremental", cursor="at", columns="at TIMESTAMP, n INT")
        lake.write("timed.csv", "at,n", "2013-01-01T10:00:00.000001Z,1", "2013-01-01T11:00:00+01:00,2")
        lake.load(timed)
        lake.write("timed.csv", "at,n", "2013-01-01T10:00:00.000001Z,3", "2013-01-01T09:00:00.000002-01:00,4")
        lake.load(timed)

        assert lake.rows("timed", "n") == [(1,), (2,), (4,)]

    @pytest.mark.soak
    def test_a_row_without_a_cursor_or_a_key_is_refused(self, lake: Loaded) -> None:
        lake.write("lost.csv", "id,word", "1,one", ",none")
        lost = {"file": "lost.csv", "columns": "id INT, word STRING"}

        said = lake.refused(
            stream("lost_cursor", mode="incremental", cursor="id", **lost),
            stream("lost_key", mode="upsert", key=["id"], **lost),
            stream("lost_column", mode="upsert", key=["other"], **lost),
        )

        assert "lost.csv: `id` (the cursor) is missing: " in said[0]
        assert "lost.csv: `id` (part of the key) is missing: " in said[1]
        assert "neither the table nor the data has a column `other`" in said[2]

    def test_a_load_of_a_range_replaces_the_rows_of_that_range(self, lake: Loaded) -> None:
        past = stream("past", mode="incremental", cursor="id", columns="id INT, word STRING")
        lake.write("past.csv", "id,word", "1,old", "2,old", "3,old", "4,old")
        lake.load(past)
        lake.write("past.csv", "id,word", "1,new", "2,new", "2,more", "4,new")
        for _ in range(2):
            lake.load(past, part=Range("2", "4"))

        assert lake.rows("past") == [(1, "old"), (2, "more"), (2, "new"), (4, "old")]
        snapshots = "SELECT count(*) FROM lake.raw.past.snapshots"
        assert lake.lake.rows(snapshots) == [(3,)]

    def test_a_load_of_a_range_needs_a_cursor(self, lake: Loaded) -> None:
        lake.write("partless.csv", "id", "1")

        (said,) = lake.refused(stream("partless"), part=Range("2", "4"))

        assert "has no `cursor` column, which a backfill needs" in said


class TestUpsert:
    def test_an_upsert_stores_the_newest_row_of_each_key(self, lake: Loaded) -> None:
        changed = stream("changed", mode="upsert", key=["id"], cursor="at", columns="id INT, at INT, word STRING")
        lake.write("changed.csv", "id,at,word", "1,10,one", "2,10,two", "2,11,two again", "3,10,three")
        lake.load(changed)
        lake.write("changed.csv", "id,at,word", "1,12,one again", "4,11,four", "4,13,four again", "3,9,late")
        told = lake.load(changed)

        assert lake.rows("changed") == [
            (1, 12, "one again"),
            (2, 11, "two again"),
            (3, 10, "three"),
            (4, 13, "four again"),
        ]
        assert told.metrics == {"rows.lake.raw.changed": 2}
        assert told.lines[-1] == "stream `changed`: 4 rows in lake.raw.changed"

    @pytest.mark.soak
    def test_an_upsert_of_a_range_does_not_replace_newer_rows(self, lake: Loaded) -> None:
        older = stream("older", mode="upsert", key=["id"], cursor="at", columns="id INT, at INT, word STRING")
        lake.write("older.csv", "id,at,word", "1,10,new", "2,3,new")
        lake.load(older)
        lake.write("older.csv", "id,at,word", "1,4,late", "2,5,late", "3,5,late")
        lake.load(older, part=Range("4", "6"))

        assert lake.rows("older") == [(1, 10, "new"), (2, 5, "late"), (3, 5, "late")]

    @pytest.mark.soak
    def test_an_upsert_may_have_several_keys_of_any_type(self, lake: Loaded) -> None:
        columns = "name STRING, day DATE, at TIMESTAMP, price DECIMAL(10,2), ok BOOLEAN, n INT"
        keys = ["name", "day", "at", "price", "ok"]
        odd = stream("odd", mode="upsert", key=keys, columns=columns)
        rows = [
            ("O'Hare \\ x", "2024-02-29", "2024-03-31T01:30:00Z", "1.50", "true"),
            ("é`", "1900-01-01", "1970-01-01T00:00:00Z", "-2", "false"),
        ]
        for n in (1, 2):
            lake.write(
                "odd.csv",
                ",".join(each.partition(" ")[0] for each in columns.split(", ")),
                *(",".join((*row, str(n))) for row in rows),
            )
            lake.load(odd)

        assert lake.rows("odd", "n, count(*) OVER ()") == [(2, 2), (2, 2)]

    def test_an_upsert_writes_the_changed_rows_only(self, lake: Loaded) -> None:
        lake.lake.spark.sql(
            "CREATE TABLE lake.raw.large AS SELECT /*+ REPARTITION_BY_RANGE(8, id) */ id, 'was' AS word FROM range(8000)"
        )
        lake.write("large.csv", "id,word", *(f"{each},is" for each in range(3000, 3100)))
        by_key = stream("large", mode="upsert", key=["id"], columns="id BIGINT, word STRING")

        lake.load(by_key)

        (summary,) = lake.lake.rows("SELECT summary FROM lake.raw.large.snapshots ORDER BY committed_at DESC LIMIT 1")
        figures = summary[0]
        assert (figures["added-records"], figures["added-position-deletes"]) == ("100", "100")
        assert "deleted-data-files" not in figures
        assert lake.rows("large", "count(*), count_if(word = 'is')") == [(8000, 100)]


class TestColumns:
    def test_new_columns_are_added_and_missing_columns_are_empty(self, lake: Loaded) -> None:
        drifting = stream("drifting", mode="incremental", cursor="id", format="json_lines", file="drifting.json")
        lake.write("drifting.json", '{"id": 1, "was": "a", "in": {"x": 1}, "all": [{"y": 1}]}')
        lake.load(drifting)
        lake.write("drifting.json", '{"id": 2, "new": true, "in": {"x": 2, "z`z": "deep"}, "all": [{"y": 2, "w": 3}]}')
        told = lake.load(drifting)

        assert lake.rows("drifting", "id, was, new, in.x, in.`z``z`, all.y, all.w") == [
            (1, "a", None, 1, None, [1], [None]),
            (2, None, True, 2, "deep", [2], [3]),
        ]
        assert sum("ADD COLUMN" in line for line in told.lines) == 3

    @pytest.mark.soak
    def test_a_column_with_a_wider_type_is_widened(self, lake: Loaded) -> None:
        widening = stream("widening", file="widening.parquet", format="parquet")
        narrow = {"i": pa.array([1], pa.int32()), "f": pa.array([0.5], pa.float32())}
        wide = {"i": pa.array([2**40], pa.int64()), "f": pa.array([1e300], pa.float64())}
        for columns in (narrow, wide):
            pq.write_table(pa.table(columns), lake.folder / "widening.parquet")
            lake.load(widening)

        assert lake.rows("widening") == [(2**40, 1e300)]

    def test_a_column_of_another_type_is_converted_if_no_value_is_lost(self, lake: Loaded) -> None:
        other = stream("another", file="another.parquet", format="parquet")
        pq.write_table(pa.table({"n": pa.array([1], pa.int32()), "t": ["a"]}), lake.folder / "another.parquet")
        lake.load(other)
        pq.write_table(pa.table({"n": [2.0], "t": [7]}), lake.folder / "another.parquet")
        lake.load(other)
        assert lake.rows("another") == [(2, "7")]

        streams = []
        for at, lost in enumerate(([2.5], ["x"], [{"x": 1}])):
            pq.write_table(pa.table({"n": lost, "t": [7]}), lake.folder / f"another{at}.parquet")
            streams.append(other | {"name": f"another{at}", "file": f"another{at}.parquet"})
        for one, expected in zip(
            streams,
            ("another0.parquet: `n` is not a valid INT", "another1.parquet: `n` is not a valid INT", NESTED),
            strict=True,
        ):
            assert expected in lake.refused(one)[0]
        assert lake.rows("another") == [(2, "7")]


class TestBadRows:
    def test_bad_rows_are_quarantined_once_with_the_reason(self, lake: Loaded) -> None:
        apart = stream("apart", bad_rows="quarantine", columns="id INT, n INT")
        lake.write("apart.csv", "id,n", "1,10", "2,x", "3,30,more", "4,40")
        told = lake.load(apart)
        lake.load(apart)
        lake.write("apart.csv", "id,n", "y,5")
        lake.load(apart)

        assert lake.rows("apart") == []
        assert lake.rows("apart_quarantine", "row, reason") == [
            ("2,x", "apart.csv: the row does not fit the columns; columns without a value: n"),
            ("3,30,more", "apart.csv: the row does not fit the columns; columns without a value: "),
            ("y,5", "apart.csv: the row does not fit the columns; columns without a value: id"),
        ]
        assert lake.rows("apart_quarantine", "count(DISTINCT run), count(at)") == [(2, 3)]
        assert told.metrics == {"rows.lake.raw.apart_quarantine": 2, "rows.lake.raw.apart": 2}

    @pytest.mark.soak
    def test_bad_rows_are_not_quarantined_again_by_a_later_incremental_load(self, lake: Loaded) -> None:
        growing = stream("bad", mode="incremental", cursor="id", bad_rows="quarantine", columns="id INT, n INT")
        lake.write("bad.csv", "id,n", "1,10", "2,x", ",7")
        lake.load(growing)
        lake.write("bad.csv", "id,n", "1,10", "2,x", ",7", "3,30")
        lake.load(growing)

        assert lake.rows("bad") == [(1, 10), (3, 30)]
        assert lake.rows("bad_quarantine", "row") == [("2,x",), ('{"n":7}',)]


class TestAnAttempt:
    def test_an_attempt_does_not_write_the_streams_of_an_earlier_attempt_again(self, lake: Loaded) -> None:
        lake.write("once.csv", "id", "1")
        lake.write("second.csv", "id", "1")
        both = source(
            stream("once", mode="incremental", cursor="id"), stream("second", mode="incremental", cursor="id")
        )
        lake.lake.save(both)
        definition, run = SourceDefinition.model_validate(both), RunId(new_id("run"))
        with lake.lake.execution("load", run=run, again=True) as (execution, _):
            load(definition.streams[0], "files", execution)
        lake.write("once.csv", "id", "1", "2")

        told = lake.load(*both["streams"], run=run)

        assert "stream `once`: an earlier attempt has written lake.raw.once; skipping it" in told.lines
        assert lake.rows("once") == lake.rows("second") == [("1",)]


class TestAnApi:
    def test_an_api_is_loaded_page_by_page_and_incrementally(self, lake: Loaded) -> None:
        columns = "id INT, changed TIMESTAMP, word STRING"
        tickets = stream(
            "tickets",
            path="/tickets",
            records="/items",
            pages={"by": "cursor", "next": "/next"},
            since="from",
            mode="incremental",
            cursor="changed",
            columns=columns,
        )
        rows = [{"id": at, "changed": f"2024-01-0{at}T00:00:00Z", "word": f"\u2028 {at}"} for at in range(1, 6)]

        def answer(asked: Asked) -> Given:
            new = [row for row in rows if str(row["changed"]) > asked.parameters.get("from", "")]
            start = int(asked.parameters.get("cursor", "0"))
            more = {"next": str(start + 2)} if start + 2 < len(new) else {}
            return Given({"items": new[start : start + 2], **more})

        with api_server() as server:
            server.answering = answer
            place = {"place": lambda _: HttpPlace(server.url, {}, open_egress().addresses)}
            lake.load(tickets, **place)
            rows.append({"id": 6, "changed": "2024-01-06T00:00:00Z", "word": "6", "more": 1})
            told = lake.load(tickets, **place)
            nothing = lake.load(tickets, **place)

        assert [row[0] for row in lake.rows("tickets", "id")] == [1, 2, 3, 4, 5, 6]
        assert "stream `tickets`: 1 records from /tickets" in told.lines
        assert nothing.lines[-1] == "stream `tickets`: no records to load"
        assert server.asked[-1].parameters == {"from": "2024-01-06T00:00:00Z"}

    def test_a_failing_api_leaves_the_table_unchanged_and_an_empty_answer_empties_it(self, lake: Loaded) -> None:
        whole = stream("broken", path="/rows", columns="id INT", pages={"by": "page"})
        with api_server() as server:
            place = {"place": lambda _: HttpPlace(server.url, {}, open_egress().addresses)}
            server.scripted(Given([{"id": 1}]), Given([]))
            lake.load(whole, **place)
            server.scripted(Given([{"id": 2}]), Given(status=403))
            with pytest.raises(LoadError, match=r"stream `broken`: page 2 of `/rows`: the API responded with 403"):
                lake.load(whole, **place)

            assert lake.rows("broken") == [(1,)]
            server.scripted(Given([]))
            lake.load(whole, **place)

        assert lake.rows("broken") == []


class TestADatabase:
    def test_a_database_is_loaded_by_cursor_and_by_key(self, lake: Loaded, postgres: PostgresServer) -> None:
        database = postgres.create()
        target = {"host": "127.0.0.1", "port": postgres.port, "database": database, "user": USER}
        lake.lake.owner.call("POST", "/connections", {"name": "shop", "postgresql": target})
        orders = {"table": "public.orders", "cursor": "id"}
        both = source(
            stream("orders_added", mode="incremental", **orders),
            stream("orders", mode="upsert", key=["id"], **orders | {"cursor": "changed"}),
        ) | {"connection": "shop", "name": "load_shop"}
        with psycopg.connect(postgres.url(database), autocommit=True) as shop:
            shop.execute("CREATE TABLE orders (id bigint, changed timestamptz, price numeric(10,2), note text)")
            shop.execute("INSERT INTO orders SELECT n, 'epoch', n * 1.5, 'first' FROM generate_series(1, 3) n")
            lake.lake.run(both)
            shop.execute("ALTER TABLE orders ADD paid boolean DEFAULT true")
            shop.execute("UPDATE orders SET note = 'second', changed = now() WHERE id = 2")
            shop.execute("INSERT INTO orders VALUES (4, now(), 9, 'new')")
            lake.lake.run(both)

        columns = "id, CAST(price AS STRING), note, paid"
        first, third, new = (1, "1.50", "first"), (3, "4.50", "first"), (4, "9.00", "new", True)
        assert lake.rows("orders_added", columns) == [(*first, None), (2, "3.00", "first", None), (*third, None), new]
        assert lake.rows("orders", columns) == [(*first, True), (2, "3.00", "second", True), (*third, True), new]


def test_an_integration_loads_as_a_source_does(lake: Loaded) -> None:
    lake.write("integrated.csv", "id", "1")
    definition = parse_definition(source(stream("integrated"), kind="integration"))
    lake.lake.save(source(stream("integrated")))
    with lake.lake.execution("load") as (execution, _):
        carry_out = kind_of(definition).run
        assert carry_out is not None
        carry_out(definition, execution)

    assert lake.rows("integrated") == [("1",)]
