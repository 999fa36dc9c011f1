"""Numbers that Spark parses: a long one, which Java would expand for hours, takes no time."""

import time

import pytest

from headgate.spark.toolchain.jars import spark_jars
from headgate.spark.toolchain.prepare import Toolchain
from tests.spark.guard.bytecode import Bytecode, read
from tests.spark.guard.driver_harness import ADMIN, DriverHarness
from tests.spark.guard.plan_page import TABLES

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

_TEXT = "Ljava/lang/String;"
_READING = frozenset(
    {
        ("java/math/BigDecimal", "<init>", f"({_TEXT})V"),
        ("java/math/BigInteger", "<init>", f"({_TEXT})V"),
        ("scala/math/BigDecimal$", "apply", f"({_TEXT})Lscala/math/BigDecimal;"),
        ("com/fasterxml/jackson/core/JsonParser", "getDecimalValue", "()Ljava/math/BigDecimal;"),
    }
)
"""The calls whose input the guard limits."""
_UNBOUNDED = frozenset({"getBigIntegerValue", "decimalValue", "bigIntegerValue"})
"""Further calls of Java and of the JSON library that create a large number from a text.

Spark's classes do not use them.
"""
SECONDS = 10.0
LONG = "repeat('9', 3000000)"
TEXTS = {
    "cast": (LONG, "try_cast({} AS DECIMAL(38, 0))"),
    "fraction": (f"concat('0.', {LONG})", "try_cast({} AS DECIMAL(38, 0))"),
    "JSON exponent": ("""'{"a": 1e300000000}'""", "from_json({}, 'a DECIMAL(10, 0)').a"),
    "JSON text": ("""'{"a": "1e300000000"}'""", "from_json({}, 'a DECIMAL(10, 0)').a"),
    "JSON long text": (f"""concat('{{"a": "', {LONG}, '"}}')""", "from_json({}, 'a DECIMAL(10, 0)').a"),
    "CSV exponent": ("'1e300000000'", "from_csv({}, 'a DECIMAL(10, 0)').a"),
    "CSV long": (LONG, "from_csv({}, 'a DECIMAL(10, 0)').a"),
    "XML": ("'<r><a>1e300000000</a></r>'", "from_xml({}, 'a DECIMAL(10, 0)').a"),
    "variant": (LONG, "try_variant_get(try_parse_json({}), '$', 'decimal(38, 0)')"),
    "negative exponent": ("""'{"a": -1e-300000000}'""", "from_json({}, 'a DECIMAL(10, 0)').a"),
}
"""Texts of numbers that no type of Spark can hold, and calls that read them."""


@pytest.fixture
def lake(strained_lake: DriverHarness) -> DriverHarness:
    return strained_lake


@pytest.fixture(scope="module")
def classes(toolchain: Toolchain) -> list[Bytecode]:
    """Return the classes of Spark SQL and Iceberg."""
    jars = [
        jar for part in ("catalyst", "sql", "sql-api", "variant") for jar in spark_jars().glob(f"spark-{part}_*.jar")
    ]
    spark = [each for jar in jars for each in read(jar, "org/apache/spark/").values()]
    return spark + [
        each for name, each in read(toolchain.iceberg_jar, "org/apache/iceberg/").items() if ".shaded." not in name
    ]


def test_every_class_that_reads_a_number_is_on_the_list(classes: list[Bytecode]) -> None:
    listed = (line.partition("#")[0].strip() for line in (TABLES / "number-readers.txt").read_text().splitlines())

    assert {each.name for each in classes if each.calls & _READING} == {line for line in listed if line}


def test_no_class_reads_a_number_without_a_bound(classes: list[Bytecode]) -> None:
    assert [each.name for each in classes for _, name, _ in each.calls if name in _UNBOUNDED] == []


@pytest.mark.parametrize("place", ["constant", "row"])
@pytest.mark.parametrize("kind", TEXTS)
def test_a_number_out_of_range_is_evaluated_quickly(lake: DriverHarness, kind: str, place: str) -> None:
    text, call = TEXTS[kind]
    column = text if place == "constant" else f"{text} || if(id < 0, 'x', '')"
    begun = time.monotonic()

    found = (
        lake.session(ADMIN).sql(f"SELECT {call.format('t')} FROM (SELECT {column} AS t FROM range(1))").collect()[0][0]
    )

    assert not found
    assert time.monotonic() - begun < SECONDS


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12.345e2", "1234.50"),
        ("1e-3", "0.00"),
        ("0e99999", "0.00"),
        ("000001e00002", "100.00"),
        ("-1.5E+1", "-15.00"),
        (f"0.{'0' * 9900}15e9902", "15.00"),
        (f"0.{'0' * 9991}1e10000", "100000000.00"),
        (f"12{'0' * 9900}e-009900", "12.00"),
    ],
)
def test_a_number_within_range_keeps_its_value(lake: DriverHarness, text: str, value: str) -> None:
    found = lake.session(ADMIN).sql(
        f"SELECT CAST('{text}' AS DECIMAL(20, 2)), from_csv('{text}', 'a DECIMAL(20, 2)').a"
    )

    assert [str(each) for each in found.collect()[0]] == [value, value]
