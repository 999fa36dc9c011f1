"""Retained rows - frames, caches, views, functions, checkpoints - are authorized again at every use."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.connect.dataframe import DataFrame as ConnectFrame
from pyspark.sql.connect.plan import LogicalPlan
from pyspark.sql.connect.proto import Join, Relation
from pyspark.sql.connect.session import SparkSession as ConnectSession
from typing_extensions import override

from headgate.spark.sessions.signature import sign_session
from tests.spark.guard.attempts import refusals
from tests.spark.guard.checkpoints import checkpointed
from tests.spark.guard.driver_harness import ADMIN, REFUSED, DriverHarness

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

FLIGHTS = "SELECT * FROM lake.raw.flights"


def held(spark: SparkSession) -> Mapping[str, Callable[[], object]]:
    """Return every way in which a session may retain rows of a table, each as a use of the rows."""
    frame = spark.sql(FLIGHTS)
    cached = spark.table("lake.raw.flights").cache()
    assert cached.count() == 1
    checkpoint = checkpointed(frame)
    assert checkpoint.count() == 1
    frame.createOrReplaceTempView("held_view")
    spark.sql(f"CACHE TABLE held_cache AS {FLIGHTS}").collect()
    spark.sql(
        "CREATE TEMPORARY FUNCTION held_count() RETURNS BIGINT RETURN (SELECT count(*) FROM lake.raw.flights)"
    ).collect()
    keep_in_variables(spark)
    keep_in_views(spark)
    filled = spark.sql(FLIGHTS).fillna(0)
    of_a_snapshot = spark.sql(f"{FLIGHTS} VERSION AS OF {snapshot(spark)}").fillna(0)
    assert filled.collect() == of_a_snapshot.collect()
    checkpoint_of_filled = checkpointed(of_a_snapshot)
    return {
        "a frame that Spark has analyzed": filled.collect,
        "a frame of a snapshot that Spark has analyzed": of_a_snapshot.collect,
        "a checkpoint of a frame that Spark has analyzed": checkpoint_of_filled.collect,
        "a frame": frame.collect,
        "the schema of a frame": lambda: spark.table("lake.raw.flights").schema,
        "a cached frame": cached.collect,
        "a checkpoint": checkpoint.collect,
        "a temporary view": spark.table("held_view").collect,
        "a cached table": spark.table("held_cache").collect,
        "a temporary function": spark.sql("SELECT held_count()").collect,
        "a session variable": lambda: spark.sql("SELECT held_number").collect(),
        "a variable of a variable": lambda: spark.sql("SELECT held_copy + 1").collect(),
        "a variable of an executed statement": lambda: spark.sql("SELECT held_into").collect(),
        "a variable in a statement": lambda: spark.sql("EXECUTE IMMEDIATE held_text").collect(),
        "a variable in a name": lambda: spark.sql("SELECT IDENTIFIER(held_name)()").collect(),
        "a variable in a schema": lambda: spark.sql("SELECT from_json('{}', session.held_schema)").collect(),
        "a variable in a script": lambda: spark.sql(
            "BEGIN DECLARE x INT; SET x = held_number; SELECT x; END"
        ).collect(),
        "a variable whose next value failed": lambda: spark.sql("SELECT held_failed").collect(),
        "a variable of a parameter": lambda: spark.sql("SELECT held_parameter").collect(),
        **{f"a view of {name}": lambda name=name: spark.sql(f"SELECT * FROM {name}").collect() for name in VIEWS},
    }


VIEWS = (
    "held_transposed",
    "held_folded",
    "held_quantiles",
)
"""Views with rows in their plan."""


def keep_in_views(spark: SparkSession) -> None:
    """Keep data of a table in views that read no table."""
    spark.table("lake.raw.flights").select("year").limit(9).transpose().createOrReplaceTempView("held_transposed")
    spark.sql("VALUES (held_number)").createOrReplaceTempView("held_folded")
    relation = Relation()
    relation.approx_quantile.input.sql.query = FLIGHTS
    relation.approx_quantile.cols.append("year")
    relation.approx_quantile.probabilities.append(0.5)
    relation.approx_quantile.relative_error = 0.0
    written(spark, relation).createOrReplaceTempView("held_quantiles")


def snapshot(spark: SparkSession) -> int:
    """Return the newest snapshot of the table."""
    return int(spark.sql("SELECT max(snapshot_id) FROM lake.raw.flights.snapshots").collect()[0][0])


def keep_in_variables(spark: SparkSession) -> None:
    """Keep data of a table in variables of the session."""
    count = "SELECT count(*) FROM lake.raw.flights"
    for statement in (
        "DECLARE held_number INT",
        f"SET VAR held_number = ({count})",
        "DECLARE held_copy = held_number",
        "DECLARE held_into BIGINT",
        f"EXECUTE IMMEDIATE '{count}' INTO held_into",
        "DECLARE held_text = 'SELECT 1'",
        "SET VAR held_text = (SELECT concat('SELECT ', count(*)) FROM lake.raw.flights)",
        "DECLARE held_name STRING",
        "SET VAR held_name = (SELECT 'pi' FROM lake.raw.flights)",
        "DECLARE held_schema STRING",
        "SET VAR held_schema = (SELECT 'a INT' FROM lake.raw.flights)",
        "DECLARE held_failed INT",
        f"SET VAR held_failed = ({count})",
        "DECLARE held_parameter INT",
        "EXECUTE IMMEDIATE 'SET VAR held_parameter = :p' USING held_number AS p",
    ):
        spark.sql(statement).collect()
    with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):
        spark.sql("SET VAR held_failed = 1 / 0").collect()


def test_everything_in_a_session_is_refused_after_a_revoke_or_an_outage(lake: DriverHarness) -> None:
    uses = held(lake.session(ADMIN))
    assert refusals(uses) == set()

    lake.decisions.rule = lambda *_: False
    assert refusals(uses) == set(uses)

    lake.decisions.rule = lambda *_: True
    assert refusals(uses) == set()
    lake.decisions.is_down = True
    assert refusals(uses) == set(uses)


class Written(LogicalPlan):
    """A relation that a client writes itself, which the stock client may not be able to send."""

    def __init__(self, relation: Relation) -> None:
        super().__init__(None)
        self._relation = relation

    @override
    def plan(self, session: Any) -> Relation:
        """Return the relation with the plan id of the client."""
        relation = Relation()
        relation.CopyFrom(self._relation)
        relation.common.plan_id = self._plan_id
        return relation


def beside(spark: SparkSession, query: str, command: str) -> DataFrame:
    """Return a query joined with a command."""
    relation = Relation()
    relation.join.left.sql.query = query
    relation.join.right.sql.query = command
    relation.join.join_type = Join.JOIN_TYPE_CROSS
    return written(spark, relation)


def written(spark: SparkSession, relation: Relation) -> DataFrame:
    """Return a DataFrame of a relation that the client has written itself."""
    assert isinstance(spark, ConnectSession)
    return ConnectFrame(Written(relation), spark)


@pytest.mark.parametrize(
    "command",
    [
        *("DESCRIBE QUERY SELECT 1 AS x", "EXPLAIN SELECT 1", "SHOW CATALOGS", "SHOW CURRENT NAMESPACE"),
        *("SHOW TABLES IN lake.raw", "INSERT INTO lake.raw.flights VALUES ('BB', 2013)", "SET VAR x = 1"),
    ],
)
def test_a_command_inside_a_query_is_refused(lake: DriverHarness, command: str) -> None:
    spark = lake.session(ADMIN)
    files = lake.files()
    frame = beside(spark, FLIGHTS, command)

    for use in (
        frame.collect,
        lambda: checkpointed(frame),
        lambda: frame.schema,
        lambda: frame.createOrReplaceTempView("x"),
    ):
        with pytest.raises(PySparkException) as caught:
            use()
        assert caught.value.getSqlState() == REFUSED
        assert "the query contains a command" in str(caught.value)
    assert lake.files() == files


def test_a_checkpoint_of_a_checkpoint_is_authorized_again(lake: DriverHarness) -> None:
    spark = lake.session(ADMIN)
    second = checkpointed(checkpointed(spark.sql(FLIGHTS)).select("carrier"))
    of_nothing = checkpointed(checkpointed(spark.range(3)))
    assert (second.count(), of_nothing.count()) == (1, 3)

    lake.decisions.rule = lambda *_: False

    assert refusals({"second": second.collect, "nothing": of_nothing.collect}) == {"second"}


def test_current_user_returns_the_caller(lake: DriverHarness) -> None:
    row = lake.session(ADMIN).sql("SELECT current_user(), session_user(), user(), current_user").collect()[0]

    assert set(row) == {ADMIN}


def test_the_decision_request_of_an_execution_names_its_operation(lake: DriverHarness) -> None:
    spark = lake.session(ADMIN)

    assert spark.table("lake.raw.flights").columns == ["carrier", "year"]
    assert set(lake.decisions.operations) == {None}

    lake.decisions.operations.clear()
    spark.table("lake.raw.flights").collect()
    assert len(set(lake.decisions.operations)) == 1
    assert all(lake.decisions.operations)


def test_a_cloned_session_does_not_have_the_variables_of_its_original(lake: DriverHarness) -> None:
    spark = lake.session(ADMIN)
    assert isinstance(spark, ConnectSession)
    spark.sql("DECLARE cloned_number INT").collect()
    spark.sql("SET VAR cloned_number = (SELECT max(year) FROM lake.raw.flights)").collect()
    clone = spark.cloneSession()
    clone.conf.set("headgate.principal.token", sign_session(lake.driver.key, "hgs_clone"))
    for statement in (
        "SELECT cloned_number",
        "SET VAR cloned_number = 1",
        "EXECUTE IMMEDIATE 'SELECT ' || cloned_number",
    ):
        with pytest.raises(PySparkException, match="UNRESOLVED"):
            clone.sql(statement).collect()
    clone.sql("DECLARE cloned_number INT = 2").collect()
    assert clone.sql("SELECT cloned_number").collect()[0][0] == 2


def test_a_statement_that_has_read_rows_creates_no_function(lake: DriverHarness) -> None:
    spark = lake.session(ADMIN)
    for statement in ("DECLARE newest = 1", "SET VAR newest = (SELECT max(year) FROM lake.raw.flights)"):
        spark.sql(statement).collect()
    create = "CREATE TEMPORARY FUNCTION keeps_a_value() RETURNS INT RETURN "
    for statement in (
        f"EXECUTE IMMEDIATE '{create}' || newest",
        f"BEGIN SELECT max(year) FROM lake.raw.flights; {create} 2; END",
    ):
        with pytest.raises(PySparkException, match="create the function with a statement of its own"):
            spark.sql(statement).collect()
    spark.sql(f"EXECUTE IMMEDIATE '{create} 2'").collect()
    assert spark.sql("SELECT keeps_a_value()").collect()[0][0] == 2


COMPUTED = {
    "view": "EXECUTE IMMEDIATE 'CREATE TEMPORARY VIEW v_' || x || ' AS SELECT 1'",
    "view of a computed name": "CREATE TEMPORARY VIEW IDENTIFIER('v_' || x) AS SELECT 1",
    "view of a name in a parameter": "EXECUTE IMMEDIATE 'CREATE TEMPORARY VIEW IDENTIFIER(:p) AS SELECT 1' USING x AS p",
    "column": "EXECUTE IMMEDIATE 'CREATE TEMPORARY VIEW v AS SELECT 1 AS c_' || x",
    "comment": "EXECUTE IMMEDIATE 'CREATE TEMPORARY VIEW v COMMENT \\'' || x || '\\' AS SELECT 1'",
    "cached table": "EXECUTE IMMEDIATE 'CACHE TABLE v_' || x || ' AS SELECT 1'",
    "variable": "EXECUTE IMMEDIATE 'DECLARE VARIABLE v_' || x || ' INT'",
    "function": "EXECUTE IMMEDIATE 'CREATE TEMPORARY FUNCTION f_' || x || '() RETURNS INT RETURN 1'",
    "setting": "EXECUTE IMMEDIATE 'SET spark.sql.autoBroadcastJoinThreshold=' || length(x)",
}
"""Statements that store a name or a value in the session, computed from the variable `x`."""


@pytest.mark.parametrize("kind", COMPUTED)
@pytest.mark.parametrize("of", ["script", "session variable"])
def test_a_name_that_is_computed_from_rows_is_not_stored_in_the_session(
    lake: DriverHarness, kind: str, of: str
) -> None:
    spark = lake.session(ADMIN)
    read = "SET VAR x = (SELECT max(carrier) FROM lake.raw.flights)"
    if of == "script":
        statements = [f"BEGIN DECLARE x STRING; {read.replace('VAR ', '')}; {COMPUTED[kind]}; END"]
    else:
        statements = ["DECLARE x STRING", read, COMPUTED[kind]]
    for statement in statements[:-1]:
        spark.sql(statement).collect()

    with pytest.raises(PySparkException) as caught:
        spark.sql(statements[-1]).collect()

    assert caught.value.getSqlState() == REFUSED
    spark.sql("USE lake.raw").collect()
    assert not [row for row in spark.sql("SHOW VIEWS").collect() if "AA" in str(row)]
    assert spark.conf.get("spark.sql.autoBroadcastJoinThreshold") != "2"


def test_a_name_that_the_client_writes_is_stored_after_any_read(lake: DriverHarness) -> None:
    spark = lake.session(ADMIN)
    for statement in (
        f"BEGIN {FLIGHTS}; CREATE TEMPORARY VIEW written AS {FLIGHTS}; SELECT * FROM written; END",
        f"EXECUTE IMMEDIATE 'CREATE TEMPORARY VIEW written_immediately AS {FLIGHTS}'",
        "DECLARE written_table = 'lake.raw.flights'",
        "EXECUTE IMMEDIATE 'CREATE TEMPORARY VIEW written_in_parts AS SELECT * FROM ' || written_table",
    ):
        spark.sql(statement).collect()
    name = {"name": "written_as_a_parameter"}
    spark.sql(f"CREATE TEMPORARY VIEW IDENTIFIER(:name) AS {FLIGHTS}", name).collect()
    of_a_name = spark.sql("SELECT * FROM IDENTIFIER(:name)", {"name": "lake.raw.flights"})
    of_a_name.createOrReplaceTempView("written_by_the_client")
    for view in ("written", "written_immediately", "written_in_parts", *name.values(), "written_by_the_client"):
        assert spark.table(view).count() == 1


@pytest.mark.parametrize(
    "create", ["CREATE TEMPORARY VIEW {} AS SELECT 1", "CACHE TABLE {} AS SELECT 1", "DECLARE {} INT"]
)
def test_a_name_of_more_than_255_characters_in_a_session_is_refused(lake: DriverHarness, create: str) -> None:
    spark = lake.session(ADMIN)
    spark.sql(create.format("n" * 255)).collect()

    with pytest.raises(PySparkException, match="more than 255 characters"):
        spark.sql(create.format("n" * 256)).collect()


WRITES = (
    "INSERT INTO lake.raw.cached VALUES (2)",
    "INSERT OVERWRITE lake.raw.cached VALUES (3)",
    "DELETE FROM lake.raw.cached WHERE n = 3",
    "TRUNCATE TABLE lake.raw.cached",
    "REFRESH TABLE lake.raw.cached",
)


@pytest.mark.parametrize("write", WRITES)
def test_a_write_succeeds_if_another_user_has_cached_rows_hidden_from_the_writer(
    lake: DriverHarness, write: str
) -> None:
    reader, writer = lake.session(ADMIN), lake.session("hgs_writer")
    for statement in ("DROP TABLE IF EXISTS lake.raw.cached", "CREATE TABLE lake.raw.cached AS SELECT 1 AS n"):
        reader.sql(statement).collect()
    cached = reader.sql("SELECT n FROM lake.raw.cached CROSS JOIN lake.raw.flights").cache()
    assert cached.count() == 1
    lake.decisions.rule = lambda handle, need: (
        handle == ADMIN
        or (
            need["action"] == "discover"
            or (need["object"][-1] == "cached" and (need["action"] != "table.select" or not write.startswith("INSERT")))
        )
    )

    writer.sql(write).collect()

    assert cached.count() == reader.table("lake.raw.cached").count()
