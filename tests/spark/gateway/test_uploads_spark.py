"""Rows of a client on a real Spark: everything that PySpark sends arrives, and forged offsets read nothing."""

import datetime as dt
import hashlib
import uuid
import zlib
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import types
from pyspark.sql.connect.session import SparkSession

from headgate.spark.gateway import protos
from headgate.spark.gateway.rpcs import RPCS, SERVICE
from tests.arrow_streams import column, rows, with_offsets
from tests.spark.gateway.guarded_gateway import Guarded
from tests.spark.gateway.hostile_client import Answer, RawClient, bearer

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]
base: Any = protos.base  # the type stubs do not accept nested messages written as dicts
ANN, BOB = "p0", "p1"
OK, INVALID = "OK", "INVALID_ARGUMENT"
NOW = dt.datetime(2026, 1, 2, 3, 4, 5, 6)  # noqa: DTZ001 - the test needs a time without a zone
FORGED = {
    "behind the buffer": with_offsets(0, 65_536),
    "before the buffer": with_offsets(-(1 << 20), 8),
    "binaries": with_offsets(0, 65_536, pa.binary()),
}


@pytest.fixture(scope="module")
def spark(spark_behind_gateway: Guarded) -> Iterator[SparkSession]:
    session = spark_behind_gateway.connect(ANN)
    session.conf.set("spark.sql.session.timeZone", "UTC")
    yield session
    session.stop()


class Client:
    """A client that sends arbitrary requests in a session of its own."""

    def __init__(self, port: int, person: str) -> None:
        self.raw = RawClient(f"127.0.0.1:{port}", bearer(person))
        self.session = str(uuid.uuid4())

    def send(self, name: str, **fields: Any) -> Answer:
        request = RPCS[SERVICE + name].request(session_id=self.session, **fields)
        return self.raw.send(name, [request.SerializeToString()])

    def local(self, data: bytes, schema: str = "c STRING") -> Answer:
        return self.send("ExecutePlan", plan={"root": {"local_relation": {"data": data, "schema": schema}}})

    def put(self, data: bytes) -> tuple[str, Answer]:
        """Upload an artifact under its hash."""
        name = hashlib.sha256(data).hexdigest()
        part = {"name": f"cache/{name}", "data": {"data": data, "crc": zlib.crc32(data)}}
        return name, self.send("AddArtifacts", batch={"artifacts": [part]})

    def cached(self, data: str, schema: str) -> Answer:
        relation = {"dataHashes": [data], "schemaHash": schema}
        return self.send("ExecutePlan", plan={"root": {"chunked_cached_local_relation": relation}})


@pytest.fixture
def bob(spark_behind_gateway: Guarded) -> Iterator[Client]:
    client = Client(spark_behind_gateway.gateway.port, BOB)
    yield client
    client.send("ReleaseSession")
    client.raw.close()


def count(answer: Answer) -> int:
    return sum(base.ExecutePlanResponse.FromString(message).arrow_batch.row_count for message in answer.messages)


class TestForgedRows:
    @pytest.mark.parametrize("what", FORGED)
    def test_forged_rows_of_a_plan_read_no_memory_of_the_driver(
        self, bob: Client, spark: SparkSession, what: str
    ) -> None:
        schema = "c BINARY" if what == "binaries" else "c STRING"
        for kind in (pa.string(), pa.large_string()):
            assert count(bob.local(column(pa.array(["ABCDEFGH"], kind)))) == 1

        answer = bob.local(FORGED[what], schema)

        assert answer.code.name == INVALID
        assert not answer.messages
        assert spark.range(3).count() == 3

    @pytest.mark.parametrize("what", FORGED)
    def test_forged_rows_of_an_artifact_read_no_memory_of_the_driver(
        self, bob: Client, spark: SparkSession, what: str
    ) -> None:
        schema, put = bob.put(b"c STRING")
        assert put.code.name == OK
        honest, _ = bob.put(rows(1))
        assert bob.put(rows(1))[1].code.name == OK

        forged, put = bob.put(FORGED[what])

        assert put.code.name == INVALID
        assert bob.cached(forged, schema).code.name != OK
        # Spark would allocate the number of bytes that the first letters encode: 538 MB.
        assert "Not found" in bob.cached(schema, schema).text
        assert honest != forged
        assert spark.createDataFrame([("x",)], "c STRING").collect() == [("x",)]


SIMPLE = types.StructType(
    [
        types.StructField("boolean", types.BooleanType()),
        types.StructField("byte", types.ByteType()),
        types.StructField("decimal", types.DecimalType(38, 18)),
        types.StructField("double", types.DoubleType()),
        types.StructField("string", types.StringType()),
        types.StructField("binary", types.BinaryType()),
        types.StructField("date", types.DateType()),
        types.StructField("timestamp", types.TimestampType()),
        types.StructField("ntz", types.TimestampNTZType()),
        types.StructField("interval", types.DayTimeIntervalType()),
        types.StructField("nothing", types.NullType()),
        types.StructField("array", types.ArrayType(types.ArrayType(types.StringType()))),
        types.StructField("map", types.MapType(types.StringType(), types.ArrayType(types.LongType()))),
        types.StructField("struct", types.StructType([types.StructField("a", types.IntegerType())])),
    ]
)
VALUES: tuple[Any, ...] = (
    True,
    -128,
    Decimal("1.5"),
    1.5,
    "ä\0",
    b"\0\xff",
    NOW.date(),
    NOW,
    NOW,
    dt.timedelta(days=-1, microseconds=5),
    None,
    [["a", None], None],
    {"k": [1, None]},
    types.Row(a=1),
)


@pytest.mark.filterwarnings("ignore:The copy keyword")  # a method of PySpark's client
class TestStockClient:
    def test_rows_of_every_ordinary_type_arrive(self, spark: SparkSession) -> None:
        empty = (None,) * len(VALUES)

        found = spark.createDataFrame([VALUES, empty], SIMPLE).collect()

        assert [tuple(row) for row in found] == [VALUES, empty]

    def test_rows_of_every_ordinary_type_arrive_as_artifacts(self, spark: SparkSession) -> None:
        many = spark.createDataFrame([VALUES] * 30_000, SIMPLE)

        assert many.count() == 30_000
        assert tuple(many.first() or ()) == VALUES

    def test_an_artifact_that_the_driver_has_is_reported_as_cached(self, spark: SparkSession) -> None:
        artifacts = spark.client._artifact_manager
        honest = rows(1234)
        assert not artifacts.is_cached_artifact(hashlib.sha256(honest).hexdigest())

        assert spark.client.cache_artifacts([honest]) == [hashlib.sha256(honest).hexdigest()]

        assert artifacts.is_cached_artifact(hashlib.sha256(honest).hexdigest())

    def test_rows_of_variants_arrive(self, spark: SparkSession) -> None:
        schema = types.StructType([types.StructField("v", types.VariantType())])
        value = types.VariantVal.parseJson('{"a": 1}')

        assert spark.createDataFrame([(value,)], schema).selectExpr("v:a::int AS a").collect() == [(1,)]

    def test_frames_of_pandas_arrow_and_numpy_arrive(self, spark: SparkSession) -> None:
        frame = pd.DataFrame({"i": [1, 2], "s": ["a", "b"], "t": pd.to_datetime([NOW, NOW])})
        table = pa.table({"i": [1, 2], "s": pa.array(["a", "b"]).dictionary_encode().cast(pa.string())})

        assert spark.createDataFrame(frame).toPandas()["s"].tolist() == ["a", "b"]
        assert spark.createDataFrame(table).collect() == [(1, "a"), (2, "b")]
        assert spark.createDataFrame(np.array([[1.5, 2.5]])).collect() == [(1.5, 2.5)]
        assert spark.createDataFrame([], "a INT").collect() == []

    @pytest.mark.soak
    def test_a_wide_table_arrives_as_artifacts(self, spark: SparkSession) -> None:
        """The schema of the table alone is larger than one chunk."""
        frame = pd.DataFrame({f"column_{each}": range(2_000) for each in range(600)})

        wide = spark.createDataFrame(frame, ", ".join(f"{name} LONG" for name in frame.columns))

        assert wide.count() == 2_000
