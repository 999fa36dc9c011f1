"""Values that a statement computes.

Too large ones are refused before they exist; all others are as Spark computes them.
"""

from collections import Counter

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import functions as sf

from headgate.spark.toolchain.guard_build import SOURCES
from tests.spark.guard.driver_harness import ADMIN, DriverHarness

TOO_LARGE = "54000"
LISTS = SOURCES / "resources" / "headgate"
HUGE = "2000000000"


def entries(name: str) -> list[str]:
    """Return the entries of a list of the guard, without its comments."""
    lines = (
        line.partition("#")[0].strip() for line in (LISTS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    )
    return [line for line in lines if line]


def test_every_reviewed_function_has_one_entry_for_its_size() -> None:
    kinds, counted = set[str](), Counter[str]()
    for line in entries("sizes"):
        kind, _, names = line.partition(":")
        kinds.add(kind)
        counted.update(names.split())

    assert kinds == {"sized", "rows", "arguments", "fixed"}
    assert set(counted) == set(entries("functions"))
    assert [name for name, count in counted.items() if count > 1] == []


TEN = "repeat('x', 10000000)"
TOO_LARGE_CALLS = [
    f"repeat('x', {HUGE})",
    f"space({HUGE})",
    f"lpad('x', {HUGE}, 'y')",
    f"rpad('x', {HUGE}, 'yz')",
    f"lpad(X'61', {HUGE}, X'62')",
    f"array_repeat(1, {HUGE})",
    f"sequence(1, {HUGE})",
    f"sequence(1, {HUGE}, 2)",
    f"sequence(TIMESTAMP '2000-01-01', TIMESTAMP '2000-01-01' + make_interval(0, 0, 0, 0, 0, 0, {HUGE}), INTERVAL 1 SECOND)",
    f"sequence(DATE '0001-01-01', DATE '9999-12-31', make_interval(0, 0, 0, 0, 0, 0, {HUGE} / {HUGE}))",
    f"array_insert(array(1), {HUGE}, 1)",
    f"format_string(concat('%', {HUGE}, 'd'), 1)",
    f"printf(concat('%.', {HUGE}, 'f'), 1.0)",
    f"format_string('%1$s%1$s', {TEN})",
    f"format_number(1, {HUGE})",
    f"replace({TEN}, 'x', 'xx')",
    pytest.param(f"regexp_replace({TEN}, 'x', 'xx')", marks=pytest.mark.soak),
    "regexp_replace(repeat('x', 10000), '(x+)', repeat('$1', 10000))",
    "array_join(array_repeat('x', 100000), repeat('-', 10000))",
    f"concat({TEN}, {TEN})",
    f"{TEN} || {TEN}",
    f"concat({', '.join([TEN] * 10)})",
    f"concat_ws({TEN}, 'a', 'b', 'c')",
    f"hex({TEN})",
    "decode(CAST(repeat('é', 8000000) AS BINARY), 'ISO-8859-1')",
    "url_encode(repeat('/', 10000000))",
    f"split({TEN}, '')",
    "split(repeat('x,', 5000000), ',')",
    "regexp_extract_all(repeat('x', 16000000), 'x', 0)",
    "flatten(transform(sequence(1, 1000), x -> sequence(1, 100000)))",
    "transform(sequence(1, 1000), x -> repeat('y', 1000000))",
    f"levenshtein({TEN}, {TEN})",
    "parse_url('http://x/?a=1', 'QUERY', '(x+x+)+y')",
    "parse_url('http://x/?a=1', 'QUERY', 'x*x*x*y')",
    f"format_string(concat('%s%-<', {HUGE}, 's'), 'x')",
    f"format_string(concat('%-1$', {HUGE}, 's'), 'x')",
    "str_to_map(repeat(',', 10000000), ',', '=')",
    "split_part(repeat(',', 10000000), ',', 1)",
    "aggregate(sequence(1, 100), array(''), (a, i) -> array_append(a, repeat('x', 1600000 + i)))",
    "aggregate(sequence(1, 100), array(''), (a, i) -> array_prepend(a, repeat('x', 1600000 + i)))",
    "aggregate(sequence(1, 100), named_struct('a', ''), (a, i) -> named_struct('a', concat(a.a, repeat('x', 1600000 + i)))).a",
    f"to_json(named_struct('a', {TEN}, 'b', {TEN}, 'c', {TEN}))",
    f"from_json(concat('[', repeat('{{}},', 1000000), '{{}}]'), 'array<struct<{', '.join(f'a{n}: int' for n in range(50))}>>')",
    "contains(repeat('a', 10000000), concat(repeat('a', 8000000), 'b'))",
    "instr(repeat('a', 10000000), concat(repeat('a', 8000000), 'b'))",
    "locate(concat(repeat('a', 8000000), 'b'), repeat('a', 10000000))",
    "replace(repeat('a', 10000000), concat(repeat('a', 8000000), 'b'), '')",
    "substring_index(repeat('a', 10000000), concat(repeat('a', 8000000), 'b'), 1)",
    "trim(BOTH repeat('a', 10000000) FROM repeat('b', 10000000))",
    "array_distinct(transform(sequence(1, 50000), x -> array(x)))",
    "array_union(transform(sequence(1, 50000), x -> array(x)), array(array(0)))",
    "array_except(transform(sequence(1, 50000), x -> array(x)), array(array(0)))",
    "array_intersect(transform(sequence(1, 50000), x -> array(x)), array(array(0)))",
    "arrays_overlap(transform(sequence(1, 50000), x -> array(x)), array(array(0)))",
    "map_zip_with(map_from_arrays(transform(sequence(1, 50000), x -> array(x)), sequence(1, 50000)), map(array(0), 1), (k, a, b) -> a)",
]
TOO_LARGE_STATEMENTS = [
    f"SELECT approx_percentile(id, 0.5, length(repeat('x', {HUGE}))) FROM range(3)",
    f"SELECT 1 LIMIT length(repeat('x', {HUGE}))",
    f"SELECT * FROM range(length(repeat('x', {HUGE})))",
    f"SELECT * FROM IDENTIFIER(repeat('x', {HUGE}))",
    f"EXECUTE IMMEDIATE repeat('x', {HUGE})",
    f"DECLARE VARIABLE huge STRING DEFAULT repeat('x', {HUGE})",
    f"SELECT * FROM lake.raw.flights TIMESTAMP AS OF repeat('x', {HUGE})",
    f"SELECT from_json('{{}}', repeat('x', {HUGE}))",
    f"SELECT round(1.5D, {HUGE})",
    f"SELECT bround(1.5D, -{HUGE})",
    f"SELECT ceil(1.5, {HUGE})",
    f"SELECT randstr({HUGE}, 1)",
    f"SELECT stack({HUGE}, 1)",
    f"SELECT * FROM stack({HUGE}, 1)",
    "SELECT count_min_sketch(id, 0.0000000001D, 0.99D, 1) FROM range(3)",
    "SELECT window(now(), '100000 days', '1 microsecond')",
    "SELECT approx_count_distinct(id, 0.0001) FROM range(3)",
    "SELECT theta_sketch_agg(id, 26) FROM range(3)",
    "SELECT theta_union_agg(theta_sketch_agg(id), 26) FROM range(3) GROUP BY id",
    "SELECT to_json(named_struct('a', current_date()), map('dateFormat', repeat('x', 10000)))",
    "SELECT * FROM range(10) WHERE contains(repeat('a', 10000000), concat(repeat('a', 8000000), 'b'))",
    r"SHOW VIEWS LIKE '(x+x+)+y\\1'",
    "SHOW TABLES IN lake.raw LIKE 'a*a*a*a*b'",
    "SELECT /*+ BROADCAST(b) */ count(*) FROM range(9) a JOIN (SELECT id % 9 AS k FROM range(4000000)) b ON a.id = b.k",
    "SELECT /*+ BROADCAST(b) */ count(*) FROM range(9) a JOIN (SELECT id % 9 AS k FROM range(4000000)) b ON a.id < b.k",
    f"SELECT * FROM range(0, 10, 1, {HUGE})",
    f"SELECT /*+ REPARTITION({HUGE}) */ * FROM range(10)",
    f"SELECT count(*) FROM range(3) GROUP BY CUBE({', '.join(f'id + {number}' for number in range(30))})",
]


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
class TestTooLarge:
    """Each of these would fill the driver's heap, which is 1 GiB in these tests."""

    @pytest.mark.parametrize("call", TOO_LARGE_CALLS)
    def test_a_value_that_is_too_large_is_refused_as_a_constant_and_in_rows(
        self, lake: DriverHarness, call: str
    ) -> None:
        admin = lake.session(ADMIN)
        computed = call.replace(HUGE, f"cast({HUGE} + id AS INT)").replace("10000000)", "cast(10000000 + id AS INT))")

        for statement in (
            f"SELECT {call}",
            f"SELECT max(cast(value AS STRING)) FROM (SELECT {computed} AS value FROM range(2))",
        ):
            with pytest.raises(PySparkException) as caught:
                admin.sql(statement).collect()
            assert caught.value.getSqlState() == TOO_LARGE, (statement, caught.value)

    @pytest.mark.parametrize("statement", TOO_LARGE_STATEMENTS)
    def test_a_value_that_is_too_large_is_refused_while_spark_analyzes(
        self, lake: DriverHarness, statement: str
    ) -> None:
        with pytest.raises(PySparkException) as caught:
            lake.session(ADMIN).sql(statement).collect()

        assert caught.value.getSqlState() == TOO_LARGE, caught.value

    def test_a_value_of_a_dataframe_that_is_too_large_is_refused(self, lake: DriverHarness) -> None:
        admin = lake.session(ADMIN)

        for column in (
            sf.repeat(sf.lit("x"), 2000000000),
            sf.expr(f"repeat('x', {HUGE})"),
            sf.call_function("space", sf.lit(2000000000)),
        ):
            with pytest.raises(PySparkException) as caught:
                admin.range(1).select(column).collect()
            assert caught.value.getSqlState() == TOO_LARGE, caught.value

    def test_a_sample_with_an_excessive_fraction_is_refused(self, lake: DriverHarness) -> None:
        with pytest.raises(PySparkException) as caught:
            lake.session(ADMIN).range(3).sample(withReplacement=True, fraction=2e9).collect()

        assert caught.value.getSqlState() == TOO_LARGE, caught.value

    @pytest.mark.parametrize("value", ["repeat('x', cast(16000000 + id AS INT))", "text"])
    def test_a_row_of_many_large_values_is_refused(self, lake: DriverHarness, value: str) -> None:
        columns = ", ".join(f"{value} AS c{number}" for number in range(100))
        rows = "(SELECT /*+ REPARTITION(1) */ id, repeat('x', cast(16000000 + id AS INT)) AS text FROM range(1))"

        with pytest.raises(PySparkException) as caught:
            lake.session(ADMIN).sql(f"SELECT {columns} FROM {rows}").collect()

        assert caught.value.getSqlState() == TOO_LARGE, caught.value

    def test_a_column_pattern_with_a_slow_regular_expression_is_refused(self, lake: DriverHarness) -> None:
        frame = lake.session(ADMIN).sql(f"SELECT 1 AS {'x' * 60}, 2 AS y")

        with pytest.raises(PySparkException) as caught:
            frame.select(frame.colRegex(r"`(x+x+)+z\1`")).collect()

        assert caught.value.getSqlState() == TOO_LARGE, caught.value
        assert frame.select(frame.colRegex("`(x+)?+.+`")).columns == ["y"]

    def test_a_query_with_a_huge_limit_reserves_no_memory_for_all_its_rows(self, lake: DriverHarness) -> None:
        admin = lake.session(ADMIN)

        for limit in ("LIMIT 1000000000", "LIMIT 1000000000 OFFSET 3"):
            query = f"SELECT id FROM range(9) ORDER BY hash(id) {limit}"
            assert "TakeOrdered" not in admin.sql(f"EXPLAIN {query}").collect()[0][0]
            assert len(admin.sql(query).collect()) in (6, 9)

    def test_the_number_of_partitions_of_a_shuffle_is_bounded(self, lake: DriverHarness) -> None:
        admin = lake.session(ADMIN)
        admin.conf.set("spark.sql.shuffle.partitions", HUGE)

        with pytest.raises(PySparkException) as caught:
            admin.sql("SELECT id, count(*) FROM range(10) GROUP BY id").collect()

        assert caught.value.getSqlState() == TOO_LARGE


ORDINARY = {
    "repeat('ab', 3)": "ababab",
    "repeat(cast(id AS STRING), 3)": "777",
    "space(2)": "  ",
    "lpad(id, 3, '0')": "007",
    "rpad('a', 3, 'xy')": "axy",
    "hex(lpad(X'61', 2, X'62'))": "6261",
    "array_repeat(id, 2)": [7, 7],
    "sequence(id, id + 2)": [7, 8, 9],
    "size(sequence(DATE '2020-01-01', DATE '2020-03-01', INTERVAL 1 MONTH))": 3,
    "size(sequence(TIMESTAMP '2020-01-01', TIMESTAMP '2020-01-02', INTERVAL 1 HOUR))": 25,
    "size(sequence(1, 1000000))": 1000000,
    "array_insert(array(1, 2), 2, 9)": [1, 9, 2],
    "format_string('%05d %s', id, 'x')": "00007 x",
    "format_number(12345.678, 2)": "12,345.68",
    "round(1.256D, 2)": 1.26,
    "replace('abc', 'b', 'xx')": "axxc",
    "regexp_replace('abbc', 'b+', 'x')": "axc",
    "regexp_replace('a1b2', '([0-9])', '<$1>')": "a<1>b<2>",
    "regexp_extract('a1b', '([0-9])', 1)": "1",
    "regexp_extract_all('a1b2', '([0-9])', 1)": ["1", "2"],
    "regexp_count('abab', 'a')": 2,
    "regexp_substr('xab', 'a.')": "ab",
    "regexp_instr('xab', 'a.')": 2,
    "split('a,b,', ',')": ["a", "b", ""],
    "split('abc', '')": ["a", "b", "c"],
    "split('a1b22c', '[0-9]+', 2)": ["a", "b22c"],
    "concat('a', id, 'b')": "a7b",
    "'a' || id": "a7",
    "concat('a', NULL)": None,
    "concat(array(1), array(2))": [1, 2],
    "concat_ws(',', array('a', 'b'), 'c')": "a,b,c",
    "transform(sequence(1, 3), x -> x + id)": [8, 9, 10],
    "transform(array(array(1), array(2)), a -> transform(a, x -> x * 2))": [[2], [4]],
    "filter(array(1, 2), x -> x > 1)": [2],
    "aggregate(sequence(1, 3), 0, (a, x) -> a + x)": 6,
    "array_sort(array(2, 1), (a, b) -> a - b)": [1, 2],
    "'abc' LIKE '%b%'": True,
    "'abc' ILIKE 'A%c%'": True,
    "'abc' LIKE ANY ('x%', '%a%c%')": True,
    "'abc' NOT LIKE ALL ('%x%y%', 'z')": True,
    "'a1' RLIKE '^[a-z][0-9]+$'": True,
    "flatten(array(array(1), array(2)))": [1, 2],
    "array_join(array('a', NULL), ',', 'n')": "a,n",
    "levenshtein('kitten', 'sitting')": 3,
    "str_to_map('a=1, b=2;c', '[,;] *', '=')": {"a": "1", "b": "2", "c": None},
    "regexp_replace('aébab', 'b', 'c', 3)": "aécac",
    "regexp_replace('abc', '', '-')": "-a-b-c-",
    "split(',a,,', '^|,')": [",a", "", ""],
    "split_part('a,b', ',', 2)": "b",
    "contains('abc', cast('b' AS STRING))": True,
    "locate('c', concat('abc', id))": 3,
    "trim(BOTH 'x' FROM concat('x', id))": "7",
    "array_append(array(1), 2)": [1, 2],
    "array_distinct(array(array(id), array(id), array(1)))": [[7], [1]],
    "arrays_overlap(array(array(id)), array(array(7L)))": True,
    "map_zip_with(map(array(1), 1), map(array(1), 2), (k, a, b) -> a + b)[array(1)]": 3,
    "from_json(concat('{\"a\":', id, '}'), 'a INT').a": 7,
    "to_json(named_struct('a', concat('x', id), 'b', concat('x', id)))": '{"a":"x7","b":"x7"}',
    "format_string('%-4s|%<s|%1$s', id)": "7   |7|7",
    "str_to_map('a=1,b=2', ',', '=')": {"a": "1", "b": "2"},
    "parse_url('http://x/?a=1', 'QUERY', 'a')": "1",
    "to_json(struct(id))": '{"id":7}',
    "url_encode('a b')": "a+b",
    "hex('a')": "61",
    "mask(concat('Ab', id))": "Xxn",
    "array_distinct(array(id, id, 1))": [7, 1],
    "map(concat('k', id), id)['k7']": 7,
    "named_struct('a', id) = named_struct('a', 7L)": True,
    "concat('a', id) = repeat('a', cast(id AS INT))": False,
    "length(md5(repeat('x', 10000 + cast(id AS INT))))": 32,
}


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
class TestOrdinary:
    """The limits change no value."""

    def test_a_call_within_the_limits_has_its_value(self, lake: DriverHarness) -> None:
        columns = ", ".join(f"{call} AS c{number}" for number, call in enumerate(ORDINARY))

        rows = lake.session(ADMIN).sql(f"SELECT {columns} FROM range(7, 8)").collect()

        assert dict(zip(ORDINARY, rows[0], strict=True)) == ORDINARY

    def test_a_call_within_the_limits_has_the_usual_column_name(self, lake: DriverHarness) -> None:
        assert lake.session(ADMIN).sql("SELECT concat('a', 'b'), repeat('x', 2)").columns == [
            "concat(a, b)",
            "repeat(x, 2)",
        ]
        assert lake.session(ADMIN).sql("SELECT 'a' ILIKE 'A', regexp_count('a', 'a'), trim('a')").columns == [
            "ilike(a, A)",
            "regexp_count(a, a)",
            "trim(a)",
        ]
