"""Databases: a statement reaches one only by the name of a connection that its caller may use."""

from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from urllib.parse import urlsplit

import psycopg
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from headgate.control.connections.commands import JdbcAccess
from tests.postgres import USER, PostgresServer
from tests.spark.guard.driver_harness import ADMIN, REFUSED, DriverHarness

pytestmark = pytest.mark.spark

SOMEBODY = "hgs_somebody"
PASSWORD = "open sesame"  # noqa: S105 (of no user)


@pytest.fixture(scope="module")
def database(postgres: PostgresServer) -> Iterator[str]:
    """A database with a table `public.orders` of a hundred rows, by its URL."""
    name = postgres.create()
    with psycopg.connect(postgres.url(name), autocommit=True) as connection:
        connection.execute("CREATE TABLE orders AS SELECT i AS id, 'item ' || i AS item FROM generate_series(1, 100) i")
        connection.execute("CREATE TABLE hidden (secret text)")
    yield postgres.url(name)
    postgres.drop(name)


@pytest.fixture
def shop(lake: DriverHarness, database: str) -> DriverHarness:
    """The driver with the connection `shop`."""
    lake.decisions.jdbc_accesses["shop"] = jdbc_access(database)
    lake.decisions.entered.clear()
    return lake


def jdbc_access(database: str, host: str = "127.0.0.1") -> JdbcAccess:
    """Return the access to a database of this machine that is registered under a host name."""
    at = urlsplit(database)
    port = at.port or 0
    pinned = {"socketFactory": "io.headgate.guard.connections.PinnedSockets", "socketFactoryArg": f"{port} 127.0.0.1"}
    properties = {"user": USER, "password": PASSWORD, "ApplicationName": "headgate", **pinned}
    return JdbcAccess(f"jdbc:postgresql://{host}:{port}{at.path}", properties, port, ("127.0.0.1",))


def orders(spark: SparkSession, table: str = "public.orders", **options: str) -> DataFrame:
    return spark.read.format("jdbc").options(connection="shop", dbtable=table, **options).load()


def found(database: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(database) as connection:
        return connection.execute(query.encode()).fetchall()


class TestReading:
    def test_reading_a_database_needs_the_right_to_use_its_connection(self, shop: DriverHarness) -> None:
        rows = orders(shop.session(ADMIN)).where("id <= 3").orderBy("id").collect()

        assert [row.item for row in rows] == ["item 1", "item 2", "item 3"]
        assert shop.decisions.names() == {"connection.use shop"}
        assert shop.decisions.entered

    def test_a_refused_read_opens_no_connection(self, shop: DriverHarness) -> None:
        for connection in ("shop", "no_such_one"):
            with pytest.raises(PySparkException) as caught:
                shop.session(SOMEBODY).read.format("jdbc").options(
                    connection=connection, dbtable="orders"
                ).load().count()
            assert caught.value.getSqlState() == REFUSED
        assert shop.decisions.entered == []

    def test_a_partitioned_read_pushes_its_comparisons_to_the_database(self, shop: DriverHarness) -> None:
        spark = shop.session(ADMIN)
        parts = {
            "partitioncolumn": "id",
            "lowerbound": "1",
            "upperbound": "100",
            "numpartitions": "4",
            "fetchsize": "10",
        }
        frame = orders(spark, **parts)

        assert frame.where("id > 50").count() == 50
        assert sorted(row[0] for row in frame.selectExpr("spark_partition_id()").distinct().collect()) == [0, 1, 2, 3]
        assert "*GreaterThan(id,50)" in plan(frame.where("id > 50").select("id"))

    def test_a_read_uses_the_authorized_address_and_does_not_resolve_the_name(
        self, shop: DriverHarness, database: str
    ) -> None:
        shop.decisions.jdbc_accesses["shop"] = jdbc_access(database, "shop.invalid")

        assert orders(shop.session(ADMIN)).count() == 100

    def test_a_view_of_a_database_is_refused_after_its_right_is_revoked(self, shop: DriverHarness) -> None:
        spark = shop.session(ADMIN)
        orders(spark).createOrReplaceTempView("orders")
        assert spark.sql("SELECT count(*) FROM orders").collect()[0][0] == 100

        shop.decisions.rule = lambda _, need: need["action"] != "connection.use"

        with pytest.raises(PySparkException) as caught:
            spark.sql("SELECT count(*) FROM orders").collect()
        assert caught.value.getSqlState() == REFUSED

    @pytest.mark.parametrize(
        "options",
        [
            {"dbtable": "(SELECT secret FROM hidden) x"},
            {"dbtable": "orders; DROP TABLE orders"},
            {"dbtable": "orders", "query": "SELECT 1"},
            {"query": "SELECT 1"},
            {"dbtable": "orders", "url": "jdbc:postgresql://127.0.0.1/x"},
            {"dbtable": "orders", "driver": "org.h2.Driver"},
            {"dbtable": "orders", "connectionProvider": "basic"},
            {"dbtable": "orders", "headgatereference": "0" * 64},
            {"dbtable": "orders", "sessionInitStatement": "SET ROLE postgres"},
            {"dbtable": "orders", "user": "postgres"},
            {"dbtable": "orders", "socketFactory": "x"},
        ],
        ids=str,
    )
    def test_a_read_with_an_option_other_than_a_table_name_is_refused(
        self, shop: DriverHarness, options: dict[str, str]
    ) -> None:
        with pytest.raises(PySparkException) as caught:
            shop.session(ADMIN).read.format("jdbc").options(connection="shop", **options).load().count()

        assert caught.value.getSqlState() == REFUSED
        assert shop.decisions.entered == []

    def test_a_read_without_a_connection_is_refused(self, shop: DriverHarness) -> None:
        with pytest.raises(PySparkException) as caught:
            shop.session(ADMIN).read.jdbc("jdbc:postgresql://127.0.0.1:1/x", "orders").count()

        assert caught.value.getSqlState() == REFUSED

    def test_a_read_with_the_reference_of_another_session_is_refused(self, shop: DriverHarness) -> None:
        """The reference that a plan has in place of the connection is valid only in its own session."""
        reference = {"headgatereference": "f" * 64, "url": "jdbc:postgresql://connection.invalid/"}
        reader = shop.session(SOMEBODY).read.format("jdbc")
        shop.decisions.rule = lambda *_: True

        with pytest.raises(PySparkException) as caught:
            reader.options(connection="shop", dbtable="orders", **reference).load().count()

        assert caught.value.getSqlState() == REFUSED


class TestWriting:
    def test_a_write_creates_fills_and_replaces_a_database_table(self, shop: DriverHarness, database: str) -> None:
        spark = shop.session(ADMIN)
        writer = spark.range(3).write.format("jdbc").options(connection="shop", dbtable="public.made", truncate="true")

        for mode, expected in (("overwrite", 3), ("append", 6), ("overwrite", 3)):
            writer.mode(mode).save()
            assert found(database, "SELECT count(*) FROM made") == [(expected,)]

    def test_writing_to_a_database_needs_its_connection_and_the_rights_on_its_source(self, shop: DriverHarness) -> None:
        flights = shop.session(ADMIN).table("lake.raw.flights")
        shop.decisions.asked.clear()

        flights.write.format("jdbc").options(connection="shop", dbtable="flights").mode("overwrite").save()

        assert shop.decisions.names() == {"connection.use shop", "table.select lake.raw.flights"}

    @pytest.mark.parametrize("mode", ["append", "overwrite", "error", "ignore"])
    def test_a_refused_write_opens_no_connection(self, shop: DriverHarness, database: str, mode: str) -> None:
        writer = shop.session(SOMEBODY).range(3).write.format("jdbc").options(connection="shop", dbtable="orders")

        with pytest.raises(PySparkException) as caught:
            writer.mode(mode).save()

        assert caught.value.getSqlState() == REFUSED
        assert shop.decisions.entered == []
        assert found(database, "SELECT count(*) FROM orders") == [(100,)]

    @pytest.mark.parametrize(
        "options",
        [{"createTableOptions": "; DROP TABLE orders"}, {"url": "jdbc:x"}, {"dbtable": "orders; DROP TABLE orders"}],
        ids=str,
    )
    def test_a_write_with_an_option_other_than_a_table_name_is_refused(
        self, shop: DriverHarness, options: dict[str, str]
    ) -> None:
        given = {"connection": "shop", "dbtable": "made", **options}

        with pytest.raises(PySparkException) as caught:
            shop.session(ADMIN).range(1).write.format("jdbc").options(**given).mode("overwrite").save()

        assert caught.value.getSqlState() == REFUSED


class TestTheSecret:
    def test_the_password_is_in_no_plan_configuration_or_log(self, shop: DriverHarness) -> None:
        spark = shop.session(ADMIN)
        frame = orders(spark)
        said = [plan(frame), str(frame.schema), *(str(spark.conf.get(key, "")) for key in ("spark.jdbc.password",))]
        frame.write.format("jdbc").options(connection="shop", dbtable="copied").mode("overwrite").save()

        log = shop.log()

        assert not any(PASSWORD in each for each in (*said, log))

    def test_the_password_and_the_address_are_in_no_error(self, shop: DriverHarness) -> None:
        known = shop.decisions.jdbc_accesses["shop"]
        other_database = replace(known, url=known.url.replace("/test_", "/no_such_"))
        unknown_user = replace(known, properties={**known.properties, "user": "nobody_there"})
        reasons = (
            (other_database, "does not exist on its server"),
            (unknown_user, "does not accept the user and password"),
            (jdbc_access("postgresql://127.0.0.1:1/x"), "cannot be reached"),
        )
        for access, reason in reasons:
            shop.decisions.jdbc_accesses["shop"] = access
            with pytest.raises(PySparkException) as caught:
                orders(shop.session(ADMIN)).collect()
            said = str(caught.value)
            assert f"the database of the connection `shop` {reason}" in said
            assert not any(word in said for word in (PASSWORD, "127.0.0.1", "nobody_there", "no_such_"))


def plan(frame: DataFrame) -> str:
    """Return the plan that Spark explains."""
    said = StringIO()
    with redirect_stdout(said):
        frame.explain(extended=True)
    return said.getvalue()
