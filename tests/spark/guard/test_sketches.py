"""Forged sketches and bitmaps: Spark returns an answer or an error, and the driver never ends."""

import random
import struct
from collections.abc import Iterator, Mapping

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

from tests.spark.guard.driver_harness import DriverHarness

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

READER = "hgs_reader"
MADE = {
    "hll": "hll_sketch_agg(id)",
    "hll of few": "hll_sketch_agg(id % 3, 4)",
    "hll of many": "hll_sketch_agg(id, 12)",
    "theta": "theta_sketch_agg(id)",
    "theta of few": "theta_sketch_agg(id % 3)",
    "theta of one": "theta_sketch_agg(1)",
    "theta in estimation": "theta_sketch_agg(id, 4)",
    "kll bigint": "kll_sketch_agg_bigint(id)",
    "kll double": "kll_sketch_agg_double(CAST(id AS DOUBLE))",
    "kll float": "kll_sketch_agg_float(CAST(id AS FLOAT))",
    "kll of one": "kll_sketch_agg_bigint(1)",
    "kll bigint of large numbers": "kll_sketch_agg_bigint((id - 250) * 10000000000)",
    "kll double of fractions": "kll_sketch_agg_double(CAST(id AS DOUBLE) / 3 - 7.1D)",
    "kll float of fractions": "kll_sketch_agg_float(CAST(id / 3 - 7.1D AS FLOAT))",
    "items": "approx_top_k_accumulate(CAST(id % 20 AS INT)).sketch",
    "bitmap": "bitmap_construct_agg(bitmap_bit_position(id))",
}
USES: Mapping[str, tuple[str, ...]] = {
    "hll": (
        "hll_sketch_estimate({0})",
        "length(hll_union({0}, {0}, true))",
        "(SELECT hll_sketch_estimate(hll_union_agg(b)) FROM VALUES ({0}) AS t(b))",
    ),
    "theta": (
        *("theta_sketch_estimate({0})", "length(theta_union({0}, {0}))", "length(theta_intersection({0}, {0}))"),
        *(
            "length(theta_difference({0}, {0}))",
            "(SELECT theta_sketch_estimate(theta_union_agg(b)) FROM VALUES ({0}) AS t(b))",
        ),
    ),
    **{
        f"kll {kind}": (
            *(f"kll_sketch_get_n_{kind}({{0}})", f"kll_sketch_get_quantile_{kind}({{0}}, 0.5D)"),
            f"kll_sketch_get_quantile_{kind}({{0}}, array(0.5D, 1D))",
            *(f"kll_sketch_to_string_{kind}({{0}})", f"length(kll_sketch_merge_{kind}({{0}}, {{0}}))"),
        )
        for kind in ("bigint", "double", "float")
    },
    "kll of": ("kll_sketch_get_n_bigint({0})", "kll_sketch_get_rank_bigint({0}, 1)"),
    "items": (
        "approx_top_k_estimate(named_struct('sketch', {0}, 'maxItemsTracked', 10000, 'itemDataType', 1, 'itemDataTypeDDL', 'item INT'), 3)",
    ),
    "bitmap": ("bitmap_count({0})", "(SELECT length(bitmap_or_agg(b)) FROM VALUES ({0}) AS t(b))"),
}
HUGE = {
    "hll list": ("hll", 4, b"\x1e"),
    "hll registers": ("hll", 3, b"\x1a"),
    "theta hashes": ("theta in estimation", 16, b"\xff\xff\xff\x7f"),
    "kll levels": ("kll bigint", 24, struct.pack("<i", 2**30)),
    "items map": ("items", 4, b"\x1e"),
    "items count": ("items", 8, struct.pack("<i", 2**30)),
}


@pytest.fixture(scope="module")
def made(running: DriverHarness) -> Mapping[str, bytes]:
    spark = running.session(READER)
    return {name: bytes(spark.sql(f"SELECT {text} FROM range(500)").collect()[0][0]) for name, text in MADE.items()}


def uses(name: str) -> tuple[str, ...]:
    """Return the expressions that read a sketch."""
    return next(found for prefix, found in USES.items() if name.startswith(prefix))


def literal(content: bytes) -> str:
    """Return bytes as an SQL literal."""
    return f"X'{content.hex()}'"


def outcome(spark: SparkSession, expression: str) -> str:
    """Return `answered`, or the SQLSTATE of the error."""
    try:
        spark.sql(f"SELECT {expression}").collect()
    except PySparkException as error:
        return error.getSqlState() or "no state"
    return "answered"


def mutations(content: bytes, chance: random.Random, count: int) -> Iterator[bytes]:
    """Yield copies with a few changed bytes, most of them near the beginning; some copies are truncated."""
    for _ in range(count):
        copy = bytearray(content[: chance.choice([len(content), len(content), 8, 16, 24, 40])])
        for _ in range(chance.choice([1, 1, 2, 4])):
            copy[chance.randrange(min(len(copy), chance.choice([8, 32, len(copy)])))] = chance.choice(
                [0, 1, 4, 30, 127, 128, 255]
            )
        yield bytes(copy)


def test_sketches_that_spark_made_are_read(lake: DriverHarness, made: Mapping[str, bytes]) -> None:
    spark = lake.session(READER)

    for name, content in made.items():
        for use in uses(name):
            assert outcome(spark, use.format(literal(content))) == "answered", (name, use)


@pytest.mark.parametrize(("name", "at", "forged"), HUGE.values(), ids=HUGE)
def test_a_sketch_that_declares_a_huge_size_is_refused(
    lake: DriverHarness, made: Mapping[str, bytes], name: str, at: int, forged: bytes
) -> None:
    spark = lake.session(READER)
    content = made[name][:at] + forged + made[name][at + len(forged) :]

    assert "answered" not in {outcome(spark, use.format(literal(content))) for use in uses(name)}


def tried(world: DriverHarness, made: Mapping[str, bytes], seed: int, count: int) -> None:
    """Try `count` mutations of each sketch; require that the same driver still answers afterwards."""
    spark, chance, generation = world.session(READER), random.Random(seed), world.driver.generation  # noqa: S311
    for name, content in made.items():
        for each in mutations(content, chance, count):
            outcome(spark, chance.choice(uses(name)).format(literal(each)))
    assert world.driver.generation == generation
    assert outcome(spark, "1") == "answered"


def test_mutated_sketches_do_not_end_the_driver(lake: DriverHarness, made: Mapping[str, bytes]) -> None:
    tried(lake, made, seed=1, count=12)


@pytest.mark.soak
def test_many_mutated_sketches_do_not_end_the_driver(lake: DriverHarness, made: Mapping[str, bytes]) -> None:
    tried(lake, made, seed=2, count=400)
