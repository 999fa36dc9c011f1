"""ALTER VIEW ... AS on views of the lake: Iceberg has only CREATE OR REPLACE VIEW."""

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql.connect.session import SparkSession

from headgate.app.server import Server
from tests.journeys.sql_person import Person, add_viewer, owner_of, remote_of

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

VIEW = "lake.altered.fares"


def connect(server: Server, person: Person) -> SparkSession:
    return SparkSession.builder.remote(remote_of(server, person)).create()


@pytest.fixture(scope="module")
def owner(server: Server) -> Person:
    person = owner_of(server)
    assert person.http.post("/databases", json={"name": "altered"}).is_success
    return person


@pytest.fixture
def spark(server: Server, owner: Person) -> SparkSession:
    session = connect(server, owner)
    session.sql(f"CREATE OR REPLACE VIEW {VIEW} TBLPROPERTIES ('note' = 'of flights') AS SELECT 1 AS a").collect()
    return session


@pytest.mark.parametrize("name", [VIEW, "fares"])
def test_a_view_of_the_lake_gets_another_query_and_keeps_its_properties(spark: SparkSession, name: str) -> None:
    spark.sql("USE lake.altered").collect()

    spark.sql(f"ALTER VIEW {name} AS WITH c AS (SELECT 5 AS x, 6 AS y) SELECT * FROM c").collect()

    assert spark.table(VIEW).collect()[0].asDict() == {"x": 5, "y": 6}
    assert ("note", "of flights") in [tuple(row) for row in spark.sql(f"SHOW TBLPROPERTIES {VIEW}").collect()]


@pytest.mark.parametrize("query", ["SELECT a FROM seen", "SELECT twice(2) AS a", f"SELECT * FROM {VIEW}"])
def test_a_view_of_the_lake_cannot_refer_to_the_session_or_to_itself(spark: SparkSession, query: str) -> None:
    spark.sql("CREATE TEMPORARY VIEW seen AS SELECT 1 AS a").collect()
    spark.sql("CREATE TEMPORARY FUNCTION twice(n INT) RETURNS INT RETURN n * 2").collect()

    with pytest.raises(PySparkException, match=r"references temporary|Recursive cycle"):
        spark.sql(f"ALTER VIEW {VIEW} AS {query}").collect()

    assert spark.table(VIEW).collect()[0].a == 1


def test_a_user_without_the_right_to_replace_a_view_changes_none(
    server: Server, owner: Person, spark: SparkSession
) -> None:
    alma = add_viewer(server, owner, "alma", "altered")

    with pytest.raises(PySparkException) as caught:
        connect(server, alma).sql(f"ALTER VIEW {VIEW} AS SELECT 2 AS a").collect()

    assert caught.value.getSqlState() == "42501"
    assert spark.table(VIEW).collect()[0].a == 1


@pytest.mark.parametrize("name", ["lake.altered.missing", "missing", "lake.nowhere.missing", "lake.altered.rows"])
def test_a_view_that_does_not_exist_is_not_found(spark: SparkSession, name: str) -> None:
    spark.sql("CREATE TABLE IF NOT EXISTS lake.altered.rows (a INT)").collect()
    spark.sql("USE lake.altered").collect()

    with pytest.raises(PySparkException, match="VIEW_NOT_FOUND"):
        spark.sql(f"ALTER VIEW {name} AS SELECT 1 AS a").collect()


def test_a_hidden_view_is_refused_as_one_that_does_not_exist(
    server: Server, owner: Person, spark: SparkSession
) -> None:
    stranger = connect(server, add_viewer(server, owner, "stella"))
    errors: list[str] = []

    for name in ("fares", "faxes"):
        with pytest.raises(PySparkException) as caught:
            stranger.sql(f"ALTER VIEW lake.altered.{name} AS SELECT 2 AS a").collect()
        errors.append(str(caught.value).replace(name, "fares"))

    assert errors[0] == errors[1]
    assert spark.table(VIEW).collect()[0].a == 1
