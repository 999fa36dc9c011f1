"""Spark through the whole stack: equal messages for hidden and missing names, and privileges as at each statement."""

import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from pyiceberg.view.metadata import ViewVersion
from pyspark.errors import PySparkException
from pyspark.sql.connect.session import SparkSession

from headgate.app.background import run_in_background
from headgate.app.settings.settings import Settings
from headgate.cli.demo.people import Person, Persona
from headgate.spark.sql.client import connect
from headgate.spark.toolchain.prepare import Toolchain, default_cache

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]
REFUSED, TOO_COMPLEX = "42501", "54001"
DEFAULT = (
    '{"type": "struct", "fields": [{"name": "n", "type": "long", "nullable": true, "metadata": {}}, '
    '{"name": "b", "type": "string", "nullable": true, "metadata": {"EXISTS_DEFAULT": "session_user()"}}]}'
)
TEXT = {"type": "sql", "dialect": "spark"}
VERSION = {"version-id": 1, "schema-id": 0, "timestamp-ms": 1, "summary": {}, "default-namespace": ["raw"]}


LOOK_ALIKES = {
    "s\u0435cret": "it mixes letters of Cyrillic and Latin",
    "\uff33\uff25\uff23\uff32\uff25\uff34": "write `SECRET` (Unicode form NFKC)",
    "\u0441\u043e\u0440\u0435": "all its letters look like Latin letters",
}
"""New names that readers could confuse with other names, and the text of the refusal of each."""
NAMING: dict[str, Callable[[SparkSession, str], object]] = {
    **{
        text: lambda spark, name, text=text: spark.sql(text.format(name)).collect()
        for text in (
            "CREATE SCHEMA lake.`{}`",
            "CREATE SCHEMA IF NOT EXISTS lake.`{}`",
            "CREATE TABLE lake.raw.`{}` (n INT)",
            "CREATE TABLE IF NOT EXISTS lake.raw.`{}` (n INT)",
            "CREATE OR REPLACE TABLE lake.raw.`{}` (n INT)",
            "CREATE TABLE lake.raw.`{}` AS SELECT 1 AS n",
            "ALTER TABLE lake.raw.t RENAME TO raw.`{}`",
            "CREATE VIEW lake.raw.`{}` AS SELECT n FROM lake.raw.t",
            "ALTER VIEW lake.raw.seen RENAME TO raw.`{}`",
        )
    },
    "writeTo.create": lambda spark, name: spark.range(1).writeTo(f"lake.raw.`{name}`").create(),
    "writeTo.createOrReplace": lambda spark, name: spark.range(1).writeTo(f"lake.raw.`{name}`").createOrReplace(),
    "saveAsTable": lambda spark, name: spark.range(1).write.saveAsTable(f"lake.raw.`{name}`"),
    "createTable": lambda spark, name: spark.catalog.createTable(f"lake.raw.`{name}`", schema=spark.range(1).schema),
}
NOT_LISTED = {
    "write.spark.accept-any-schema": "true",
    "encryption.key-id": "k",
    "parquet.crypto.factory.class": "x.Y",
    "write.data.p\u0430th": "/etc",
}
OUT_OF_BOUNDS = ("write.parquet.row-group-size-bytes", "9" * 20)
SETTING: dict[str, Callable[[SparkSession, str, str], object]] = {
    **{
        text: lambda spark, key, value, text=text: spark.sql(text.format(key, value)).collect()
        for text in (
            "CREATE TABLE lake.raw.p (n INT) TBLPROPERTIES ('{}' = '{}')",
            "CREATE OR REPLACE TABLE lake.raw.p TBLPROPERTIES ('{}' = '{}') AS SELECT 1 AS n",
            "ALTER TABLE lake.raw.t SET TBLPROPERTIES ('{}' = '{}')",
        )
    },
    "writeTo.create": lambda spark, key, value: spark.range(1).writeTo("lake.raw.p").tableProperty(key, value).create(),
    "writeTo.createOrReplace": lambda spark, key, value: (
        spark.range(1).writeTo("lake.raw.p").tableProperty(key, value).createOrReplace()
    ),
}


@pytest.fixture(scope="module")
def people(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Person]]:
    """An owner, a viewer of `raw` and a stranger, in a lake that contains only `raw.t` and `secret.s`."""
    assert toolchain.guard_jar.exists()
    folder = tmp_path_factory.mktemp("stack") / "data"
    with run_in_background(Settings(folder, default_cache({}), None, api_port=0, gateway_port=0), print) as server:
        token = server.settings.owner_token.read_text(encoding="utf-8").strip()
        owner = Person(Persona("owner", "", ()), token, server.url, server.gateway_port)
        found = {"owner": owner}
        for name in ("viewer", "stranger"):
            owner.call("POST", "/users", {"name": name})
            token = owner.call("POST", "/tokens", {"principal": name})["token"]
            found[name] = Person(Persona(name, "", ()), token, server.url, server.gateway_port)
        for name in ("raw", "secret"):
            owner.call("POST", "/databases", {"name": name})
        owner.spark.sql("CREATE TABLE lake.raw.t AS SELECT 1 AS n")
        owner.spark.sql("CREATE TABLE lake.secret.s AS SELECT 'top' AS word")
        owner.call("POST", "/assignments", {"subject": "viewer", "role": "viewer", "resource": "lake.raw"})
        yield found
        for person in found.values():
            person.close()


def refusal(work: Callable[[], object]) -> tuple[str | None, str]:
    """The SQLSTATE and the message of a call that must fail."""
    with pytest.raises(PySparkException) as raised:
        work()
    return raised.value.getSqlState(), str(raised.value).split("JVM stacktrace")[0]


STATEMENTS = {
    "select": "SELECT * FROM lake.{0}",
    "count": "SELECT count(*) FROM lake.{0}",
    "exists": "SELECT 1 WHERE EXISTS (SELECT 1 FROM lake.{0})",
    "column": "SELECT nosuch FROM lake.{0}",
    "insert": "INSERT INTO lake.{0} VALUES (1)",
    "drop": "DROP TABLE lake.{0}",
    "drop if exists": "DROP TABLE IF EXISTS lake.{0}",
    "describe": "DESCRIBE TABLE lake.{0}",
    "replace": "CREATE OR REPLACE TABLE lake.{0} (n INT)",
    "create": "CREATE TABLE IF NOT EXISTS lake.{0} (n INT)",
    "metadata": "SELECT * FROM lake.{0}.files",
    "view": "CREATE TEMPORARY VIEW v AS SELECT * FROM lake.{0}",
    "insert from": "INSERT INTO lake.raw.t SELECT 1 FROM lake.{0}",
}
CALLS: dict[str, Callable[[SparkSession, str], object]] = {
    "table": lambda spark, name: spark.table(f"lake.{name}").collect(),
    "schema": lambda spark, name: spark.table(f"lake.{name}").schema,
    "save": lambda spark, name: spark.range(1).write.mode("append").saveAsTable(f"lake.{name}"),
    "overwrite": lambda spark, name: spark.range(1).write.mode("overwrite").saveAsTable(f"lake.{name}"),
    "insertInto": lambda spark, name: spark.range(1).write.insertInto(f"lake.{name}"),
    "writeTo": lambda spark, name: spark.range(1).writeTo(f"lake.{name}").append(),
    "columns": lambda spark, name: spark.catalog.listColumns(f"lake.{name}"),
}


class TestHiddenAndMissing:
    """To a user who cannot discover a table, the table looks missing."""

    @pytest.mark.parametrize("form", STATEMENTS)
    @pytest.mark.parametrize("missing", ["secret.q", "nosuch.s"])
    def test_sql_answers_alike_for_a_hidden_and_a_missing_table(
        self, people: dict[str, Person], form: str, missing: str
    ) -> None:
        for name in ("viewer", "stranger"):
            spark = people[name].spark
            hidden = refusal(lambda spark=spark: spark.sql(STATEMENTS[form].format("secret.s")).collect())
            absent = refusal(lambda spark=spark: spark.sql(STATEMENTS[form].format(missing)).collect())

            assert hidden[0] == REFUSED
            assert _alike(hidden, "secret.s") == _alike(absent, missing)

    @pytest.mark.parametrize("form", CALLS)
    @pytest.mark.parametrize("missing", ["secret.q", "nosuch.s"])
    def test_the_dataframe_api_answers_alike_for_a_hidden_and_a_missing_table(
        self, people: dict[str, Person], form: str, missing: str
    ) -> None:
        for name in ("viewer", "stranger"):
            spark = people[name].spark
            hidden = refusal(lambda spark=spark: CALLS[form](spark, "secret.s"))
            absent = refusal(lambda spark=spark: CALLS[form](spark, missing))

            assert hidden[0] == REFUSED
            assert _alike(hidden, "secret.s") == _alike(absent, missing)

    def test_a_caller_that_would_see_the_missing_table_gets_the_error_of_spark(self, people: dict[str, Person]) -> None:
        state, words = refusal(lambda: people["viewer"].spark.sql("SELECT * FROM lake.raw.nosuch").collect())

        assert state == "42P01"
        assert "TABLE_OR_VIEW_NOT_FOUND" in words

    def test_a_list_leaves_out_hidden_databases_and_tables(self, people: dict[str, Person]) -> None:
        spark = people["viewer"].spark

        assert [row.namespace for row in spark.sql("SHOW NAMESPACES IN lake").collect()] == ["raw"]
        assert [row.tableName for row in spark.sql("SHOW TABLES IN lake.raw").collect()] == ["t"]


class TestARevoke:
    def test_a_revoke_applies_to_dataframes_and_views_that_a_session_has_created_before(
        self, people: dict[str, Person]
    ) -> None:
        owner, viewer = people["owner"], people["viewer"]
        frame = viewer.spark.table("lake.raw.t")
        viewer.spark.sql("CREATE OR REPLACE TEMPORARY VIEW mine AS SELECT * FROM lake.raw.t")
        uses: list[Callable[[], object]] = [
            frame.collect,
            lambda: viewer.spark.table("mine").collect(),
            lambda: viewer.spark.sql("SELECT * FROM mine").collect(),
            lambda: frame.schema,
            lambda: viewer.spark.table("lake.raw.t").collect(),
        ]
        for use in uses:
            use()

        owner.call("DELETE", "/assignments", subject="viewer", role="viewer", resource="lake.raw")
        try:
            refused = [refusal(use)[0] for use in uses[:3] + uses[4:]]
        finally:
            owner.call("POST", "/assignments", {"subject": "viewer", "role": "viewer", "resource": "lake.raw"})

        assert set(refused) == {REFUSED}
        assert [row.n for row in frame.collect()] == [1]

    def test_revoking_a_token_ends_its_sessions(self, people: dict[str, Person]) -> None:
        viewer = people["viewer"]
        issued = viewer.call("POST", "/tokens", {"label": "to be revoked"})
        spark = connect(viewer.spark_port, issued["token"])
        assert spark.sql("SELECT 1 AS one").collect()[0].one == 1

        viewer.call("DELETE", f"/tokens/{issued['id']}")

        with pytest.raises(PySparkException, match=r"UNAUTHENTICATED|not known|token"):
            spark.sql("SELECT 1 AS one").collect()
        spark.client.close()


class TestWorkUnderWay:
    """An operation ends when a privilege that it needs is revoked."""

    @pytest.fixture(autouse=True)
    def _given_back(self, people: dict[str, Person]) -> Iterator[None]:
        yield
        people["owner"].call("POST", "/assignments", {"subject": "viewer", "role": "viewer", "resource": "lake.raw"})

    def test_a_running_statement_fails_with_the_reason_after_a_revoke(self, people: dict[str, Person]) -> None:
        viewer = people["viewer"]
        long = viewer.spark.sql("SELECT sum(hash(a.id, b.id)) FROM lake.raw.t, range(100000000) a, range(100) b")
        under_way = _UnderWay()
        viewer.spark.registerProgressHandler(under_way)  # pyright: ignore[reportArgumentType] (it is called, no more)
        with ThreadPoolExecutor(1) as threads:
            running = threads.submit(refusal, long.collect)
            under_way.wait()

            people["owner"].call("DELETE", "/assignments", subject="viewer", role="viewer", resource="lake.raw")

            state, words = running.result()
        viewer.spark.removeProgressHandler(under_way)  # pyright: ignore[reportArgumentType]

        assert state == REFUSED
        assert words.startswith("viewer: there is no `lake.raw.t` that you may see")
        assert viewer.spark.sql("SELECT 1 AS one").collect()[0].one == 1

    def test_a_running_stream_stops_after_a_revoke(self, people: dict[str, Person]) -> None:
        viewer = people["viewer"]
        stream = viewer.spark.readStream.table("lake.raw.t").writeStream.format("memory").queryName("q").start()
        _until(lambda: stream.lastProgress)

        people["owner"].call("DELETE", "/assignments", subject="viewer", role="viewer", resource="lake.raw")

        _until(lambda: not stream.isActive)


class TestAccessIsByIdentity:
    def test_a_table_that_is_recreated_under_its_name_is_another_table(self, people: dict[str, Person]) -> None:
        owner, stranger = people["owner"], people["stranger"]
        owner.spark.sql("CREATE TABLE lake.secret.again AS SELECT 1 AS n")
        owner.call("POST", "/assignments", {"subject": "stranger", "role": "viewer", "resource": "lake.secret.again"})
        assert stranger.spark.table("lake.secret.again").count() == 1

        owner.spark.sql("DROP TABLE lake.secret.again")
        owner.spark.sql("CREATE TABLE lake.secret.again AS SELECT 2 AS n")

        assert refusal(lambda: stranger.spark.table("lake.secret.again").count())[0] == REFUSED

    def test_two_tokens_of_one_user_do_not_share_a_session(self, people: dict[str, Person]) -> None:
        viewer = people["viewer"]
        viewer.spark.sql("CREATE OR REPLACE TEMPORARY VIEW own AS SELECT 1 AS n")
        other = connect(viewer.spark_port, viewer.call("POST", "/tokens", {})["token"])

        assert refusal(lambda: other.table("own").collect())[0] is not None
        other.stop()


class TestViews:
    """A view of the lake has the privileges of the user who queries it, not those of its author."""

    def test_a_view_is_created_used_changed_and_dropped(self, people: dict[str, Person]) -> None:
        spark = people["owner"].spark
        spark.sql("CREATE VIEW lake.raw.doubled AS SELECT 2 * n AS n FROM lake.raw.t").collect()
        spark.sql("CREATE OR REPLACE VIEW lake.raw.doubled AS SELECT 3 * n AS n FROM raw.t").collect()
        spark.sql("ALTER VIEW lake.raw.doubled RENAME TO lake.raw.tripled").collect()

        assert people["viewer"].spark.table("lake.raw.tripled").collect()[0].n == 3
        assert [row.viewName for row in spark.sql("SHOW VIEWS IN lake.raw").collect()] == ["tripled"]
        spark.sql("DROP VIEW lake.raw.tripled").collect()

    def test_a_view_shows_a_caller_no_rows_that_the_caller_may_not_read(self, people: dict[str, Person]) -> None:
        owner, viewer = people["owner"].spark, people["viewer"].spark
        owner.sql("CREATE VIEW lake.raw.words AS SELECT word FROM lake.secret.s").collect()
        owner.sql("CREATE VIEW lake.raw.over AS SELECT * FROM lake.raw.words").collect()

        assert owner.table("lake.raw.over").collect()[0].word == "top"
        for view in ("words", "over"):
            assert refusal(viewer.table(f"lake.raw.{view}").collect)[0] == REFUSED

        owner.sql("DROP VIEW lake.raw.over").collect()
        owner.sql("DROP VIEW lake.raw.words").collect()

    @pytest.mark.parametrize(
        "text",
        [
            "DROP TABLE lake.raw.t",
            "DROP TABLE IDENTIFIER('lake.raw' || '.t')",
            "WITH a AS (SELECT 1) INSERT INTO IDENTIFIER('lake.raw' || '.t') SELECT 1",
            "EXECUTE IMMEDIATE 'DROP TABLE lake.raw.t'",
            "CALL lake.system.expire_snapshots('raw.t')",
            "BEGIN DROP TABLE lake.raw.t; END",
            "SELECT * FROM VALUES (reflect('java.lang.System', 'getProperty', 'user.name')) AS t (n)",
            "SELECT * FROM parquet.`/etc`",
            "SELECT from_xml('<r/>', 'n BIGINT', map('rowValidationXSDPath', '/etc/passwd')).n AS n",
            "SELECT from_xml('<r/>', schema_of_xml('<r/>', map('rowValidationXSDPath', '/etc/passwd'))).n AS n",
            f"SELECT from_csv('1', r'{DEFAULT}').n AS n",
            "DESCRIBE QUERY SELECT 1 AS n",
        ],
    )
    def test_a_view_with_a_forbidden_statement_or_function_is_refused(
        self, people: dict[str, Person], text: str
    ) -> None:
        owner = people["owner"]
        with views(owner, lure=text):
            assert refusal(owner.spark.table("lake.raw.lure").collect)[0] == REFUSED
            assert owner.spark.table("lake.raw.t").count() == 1

    def test_a_view_that_reads_itself_through_another_is_refused_with_a_sentence(
        self, people: dict[str, Person]
    ) -> None:
        owner = people["owner"]
        with views(owner, here="SELECT n FROM lake.raw.there", there="SELECT n FROM lake.raw.here"):
            state, words = refusal(owner.spark.table("lake.raw.here").collect)
        assert (state, "whether the views read each other in a circle" in words) == (TOO_COMPLEX, True)

    def test_a_view_with_deep_text_is_refused_with_a_sentence(self, people: dict[str, Person]) -> None:
        owner = people["owner"]
        with views(owner, deep="SELECT " + "(" * 3000 + "1" + ")" * 3000 + " AS n"):
            state, words = refusal(owner.spark.table("lake.raw.deep").collect)
        assert (state, "levels deep" in words) == (TOO_COMPLEX, True)


class TestNewNames:
    """A name that readers could confuse with another is refused, whichever way Spark creates or renames a resource."""

    @pytest.mark.parametrize("form", NAMING)
    def test_a_look_alike_name_is_refused_in_spark_and_nothing_is_created(
        self, people: dict[str, Person], form: str
    ) -> None:
        owner = people["owner"]
        with views(owner, seen="SELECT n FROM lake.raw.t"):
            before = _names(owner.spark)

            for name, sentence in LOOK_ALIKES.items():
                assert sentence in refusal(lambda name=name: NAMING[form](owner.spark, name))[1]
            assert _names(owner.spark) == before


class TestTableProperties:
    @pytest.mark.parametrize("form", SETTING)
    def test_table_properties_not_listed_or_out_of_bounds_are_refused_in_spark(
        self, people: dict[str, Person], form: str
    ) -> None:
        spark = people["owner"].spark
        before = _names(spark), spark.sql("SHOW TBLPROPERTIES lake.raw.t").collect()

        for key, value in NOT_LISTED.items():
            state, words = refusal(lambda key=key, value=value: SETTING[form](spark, key, value))
            assert (state, f"`{key}`" in words) == (REFUSED, True)
        key, value = OUT_OF_BOUNDS
        assert f"the property `{key}` must be a whole number" in refusal(lambda: SETTING[form](spark, key, value))[1]
        assert (_names(spark), spark.sql("SHOW TBLPROPERTIES lake.raw.t").collect()) == before


def _names(spark: SparkSession) -> list[str]:
    """Return the names of all databases, and of the tables and views of `raw`."""
    lists = ("SHOW NAMESPACES IN lake", "SHOW TABLES IN lake.raw", "SHOW VIEWS IN lake.raw")
    return [str(row) for each in lists for row in spark.sql(each).collect()]


@contextmanager
def views(owner: Person, **texts: str) -> Iterator[None]:
    """Create views through the catalog by their text, so that no engine has checked the text."""
    for name, text in texts.items():
        version = ViewVersion.model_validate(VERSION | {"representations": [TEXT | {"sql": text}]})
        owner.catalog.create_view(("raw", name), Schema(NestedField(1, "n", LongType())), version)
    try:
        yield
    finally:
        for name in texts:
            owner.catalog.drop_view(("raw", name))


class _UnderWay(threading.Event):
    """An event that is set when Spark reports running tasks of a statement."""

    def __call__(self, stages: object, inflight_tasks: int, operation_id: str | None, done: bool) -> None:  # noqa: FBT001 (PySpark's signature)
        if inflight_tasks:
            self.set()


def _until(holds: Callable[[], object]) -> None:
    while not holds():
        time.sleep(0.1)


def _alike(found: tuple[str | None, str], name: str) -> tuple[str | None, str]:
    """Return the refusal with every form of the name replaced by a placeholder."""
    state, words = found
    database, table = name.split(".")
    for each in (f"{database}`.`{table}", name, f"{database}.{table}"):
        words = words.replace(each, "NAME")
    return state, re.sub(rf"\b{database}\b", "DATABASE", words)


def test_an_error_or_a_setting_reveals_no_path_of_the_warehouse(people: dict[str, Person], tmp_path: Path) -> None:
    """The path of the warehouse is in no error and in no setting."""
    spark = people["viewer"].spark

    _, words = refusal(lambda: spark.sql(f"SELECT * FROM parquet.`{tmp_path}`").collect())

    assert "warehouse" not in words
    assert refusal(lambda: spark.conf.get("spark.sql.warehouse.dir"))[0] == REFUSED
    assert refusal(lambda: spark.conf.get("spark.sql.catalog.lake.uri"))[0] == REFUSED
