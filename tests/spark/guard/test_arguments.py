"""Arguments that Spark would read before the guard's rules see them: schemas, options, paths and classes."""

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from typing_extensions import override

from tests.spark.guard.driver_harness import ADMIN, REFUSED, DriverHarness

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

READER = "hgs_reader"


class Listening:
    """An attacker's server that returns a schema with an external entity, and counts its requests."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        listening = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                listening.asked.append(self.path)
                body = b"""<!DOCTYPE s [<!ENTITY x SYSTEM "file:///etc/passwd">]><s>&x;</s>"""
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            @override
            def log_message(self, format: str, *args: Any) -> None:
                """Write no log."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/x.xsd"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Free the port."""
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def listening() -> Iterator[Listening]:
    server = Listening()
    yield server
    server.close()


def run(spark: SparkSession, statement: str) -> Any:
    """Return the first value of a statement."""
    return spark.sql(statement).collect()[0][0]


def refusal(spark: SparkSession, statement: str) -> str:
    """Return the message with which the guard refuses a statement."""
    with pytest.raises(PySparkException) as caught:
        spark.sql(statement).collect()
    assert caught.value.getSqlState() == REFUSED, caught.value
    return str(caught.value)


XSD = {
    "an option": "from_xml('<r><a>1</a></r>', 'a INT', map('rowValidationXSDPath', '{url}'))",
    "a computed key": "from_xml('<r/>', 'a INT', map(concat('rowvalidation', 'xsdpath'), '{url}'))",
    "a schema of a schema": "from_xml('<r/>', schema_of_xml('<r/>', map('rowValidationXSDPath', '{url}')))",
    "a function by a computed name": "from_xml('<r/>', IDENTIFIER('schema_of' || '_xml')('<r/>', map('rowValidationXSDPath', '{url}')))",
    "both by a computed name": "IDENTIFIER('from' || '_xml')('<r/>', 'a INT', map('rowValidationXSDPath', '{url}'))",
    "a schema alone": "schema_of_xml('<r/>', map('ROWVALIDATIONXSDPATH', '{url}'))",
    "a writer": "to_xml(named_struct('a', 1), map('rowValidationXSDPath', '{url}'))",
    "a codec by its class": "to_json(named_struct('a', 1), map('compression', 'java.util.Timer'))",
    "reflection below a schema": "from_csv('1', IDENTIFIER('java' || '_method')('java.lang.System', 'getProperty', '{url}'))",
}
AROUND = {
    "select": "SELECT {}",
    "explain": "EXPLAIN SELECT {}",
    "describe": "DESCRIBE QUERY SELECT {}",
    "temporary view": "CREATE OR REPLACE TEMPORARY VIEW hostile AS SELECT {} AS x",
    "session variable": "DECLARE OR REPLACE hostile = {}",
    "script": "BEGIN SELECT {}; END",
    "temporary function": "CREATE OR REPLACE TEMPORARY FUNCTION hostile() RETURNS STRING RETURN CAST({} AS STRING)",
    "execute immediate": 'EXECUTE IMMEDIATE "SELECT {}"',
}


class TestOptionsOfFunctions:
    """The guard checks options against a list wherever the map comes from, and before Spark evaluates them."""

    @pytest.mark.parametrize("way", AROUND.values(), ids=AROUND)
    def test_no_statement_makes_the_driver_fetch_a_schema(
        self, lake: DriverHarness, listening: Listening, way: str
    ) -> None:
        spark = lake.session(READER)
        for expression in XSD.values():
            text = way.format(expression.format(url=listening.url))
            assert re.search(
                r"Headgate allows only reviewed|` of \w+ functions is not allowed", refusal(spark, text)
            ), text
        assert listening.asked == []

    def test_a_dataframe_makes_the_driver_fetch_no_schema(self, lake: DriverHarness, listening: Listening) -> None:
        frame = lake.session(READER).range(1)
        options = {"rowValidationXSDPath": listening.url}
        for column in (
            sf.from_xml(sf.lit("<r/>"), "a INT", options),
            sf.from_xml(sf.lit("<r/>"), sf.schema_of_xml("<r/>", options)),
            sf.schema_of_xml("<r/>", options),
        ):
            with pytest.raises(PySparkException) as caught:
                frame.select(column).collect()
            assert caught.value.getSqlState() == REFUSED
        assert listening.asked == []

    def test_options_of_a_function_that_are_not_constants_are_refused(self, lake: DriverHarness) -> None:
        spark = lake.session(READER)
        assert "are not a map of literals" in refusal(spark, "SELECT from_json('{}', 'a INT', map('mode', uuid()))")

    def test_a_numeric_option_above_its_bound_is_refused(self, lake: DriverHarness) -> None:
        assert "from 1 to 20480" in refusal(
            lake.session(READER), "SELECT from_csv('1', 'a INT', map('maxColumns', '2000000000'))"
        )

    @pytest.mark.parametrize(
        ("expression", "expected"),
        {
            "from_xml('<r><a>1</a></r>', 'a INT').a": 1,
            "from_xml('<r><a>1</a></r>', schema_of_xml('<r><a>1</a></r>', map('excludeAttribute', 'true'))).a": 1,
            "from_xml('<r><t>26/08/2015</t></r>', 't DATE', map('dateFormat', 'dd/MM/yyyy')).t IS NOT NULL": True,
            "from_json('{\"a\": 01}', 'a INT', map('allowNumericLeadingZeros', 'true')).a": 1,
            "from_json('[1, 2]', 'ARRAY<INT>')[1]": 2,
            "from_csv('1;2', 'a INT, b INT', map('sep', ';')).b": 2,
            "to_json(named_struct('a', 1), map('pretty', 'false'))": '{"a":1}',
            "to_csv(named_struct('a', 1, 'b', 2), map('sep', ';'))": "1;2",
            "schema_of_json('{\"a\": 1}')": "STRUCT<a: BIGINT>",
            "variant_get(parse_json('{\"a\": 1}'), '$.a', 'int')": 1,
        }.items(),
    )
    def test_ordinary_arguments_have_their_result(self, lake: DriverHarness, expression: str, expected: object) -> None:
        assert run(lake.session(READER), f"SELECT {expression}") == expected


def with_default(text: str, key: str, *, nested: bool) -> str:
    """Return a JSON schema with a default value in the metadata of a column."""
    field: dict[str, Any] = {"name": "b", "type": "string", "nullable": True, "metadata": {key: text}}
    if nested:
        field = {"name": "c", "type": {"type": "struct", "fields": [field]}, "nullable": True, "metadata": {}}
    return json.dumps(
        {"type": "struct", "fields": [{"name": "a", "type": "integer", "nullable": True, "metadata": {}}, field]}
    )


def udt(name: str) -> str:
    """Return a JSON schema with a user-defined type."""
    kind = {"type": "udt", "class": name, "pyClass": None, "sqlType": "integer"}
    return json.dumps({"type": "struct", "fields": [{"name": "a", "type": kind, "nullable": True, "metadata": {}}]})


class TestSchemasInText:
    """A schema text names no class, and contains no SQL that Spark would evaluate with a separate analyzer."""

    @pytest.mark.parametrize("function", ["from_json", "from_csv", "from_xml"])
    @pytest.mark.parametrize("key", ["EXISTS_DEFAULT", "CURRENT_DEFAULT"])
    @pytest.mark.parametrize("nested", [False, True])
    def test_a_schema_with_a_default_is_refused(
        self, lake: DriverHarness, function: str, key: str, *, nested: bool
    ) -> None:
        spark = lake.session(READER)
        schema = with_default("session_user()", key, nested=nested)
        statements = (
            f"SELECT {function}('1', r'{schema}')",
            f"SELECT {function}('1', concat(r'{schema[:20]}', r'{schema[20:]}'))",
            f"SELECT IDENTIFIER('{function}')('1', r'{schema}')",
        )
        for statement in statements:
            assert "default" in refusal(spark, statement)

    @pytest.mark.parametrize("name", ["org.apache.spark.ml.linalg.VectorUDT", "java.util.Timer"])
    def test_a_schema_that_names_a_class_is_refused(self, lake: DriverHarness, name: str) -> None:
        spark = lake.session(READER)
        for function in ("from_json", "from_csv", "from_xml"):
            assert "user-defined types" in refusal(spark, f"SELECT {function}('{{}}', r'{udt(name)}')")
        with pytest.raises(PySparkException) as caught:
            spark.range(1).select(sf.from_json(sf.lit("{}"), udt(name))).collect()
        assert caught.value.getSqlState() == REFUSED

    def test_ordinary_metadata_of_a_schema_passes(self, lake: DriverHarness) -> None:
        field = {"name": "a", "type": "integer", "nullable": True, "metadata": {"comment": "x", "unit": "km"}}
        schema = json.dumps({"type": "struct", "fields": [field]})
        spark = lake.session(READER)

        assert run(spark, f"SELECT from_json('{{\"a\": 1}}', r'{schema}').a") == 1
        assert "metadata key" in refusal(
            spark, f"SELECT from_json('{{}}', r'{schema.replace('unit', 'identity.start')}')"
        )


class TestFunctionsThatAreOnNoList:
    """A function that has not been reviewed is refused, however the statement forms its name."""

    @pytest.mark.parametrize("name", ["java_method", "reflect", "try_reflect"])
    def test_an_unlisted_function_is_refused_by_a_written_or_computed_name(
        self, lake: DriverHarness, name: str
    ) -> None:
        arguments = "('java.lang.System', 'getProperty', 'user.dir')"
        spark = lake.session(ADMIN)
        for statement in (f"SELECT {name}{arguments}", f"SELECT IDENTIFIER('{name}'){arguments}"):
            assert f"function `{name}` is refused" in refusal(spark, statement)


class TestExplain:
    """An error in an explained statement is raised as an error.

    Spark could also return it as a row, but the gateway does not scrub rows.
    """

    @pytest.mark.parametrize(
        "statement",
        [
            "SELECT nothing FROM lake.raw.flights",
            "SELECT element_at(array(1), 0)",
            "SELECT from_json('{}', 'not a schema')",
            "EXECUTE IMMEDIATE 'SELECT nothing FROM lake.raw.flights'",
            "EXECUTE IMMEDIATE 'SELECT element_at(array(1), 0)'",
        ],
    )
    def test_an_error_of_an_explained_statement_is_raised_and_is_no_row(
        self, lake: DriverHarness, statement: str
    ) -> None:
        spark = lake.session(ADMIN)
        for mode in ("", "EXTENDED", "COST", "FORMATTED"):
            with pytest.raises(PySparkException) as caught:
                spark.sql(f"EXPLAIN {mode} {statement}").collect()
            assert caught.value.getSqlState() != REFUSED

    def test_an_explained_statement_shows_its_plan(self, lake: DriverHarness) -> None:
        assert "Physical Plan" in run(lake.session(ADMIN), "EXPLAIN SELECT carrier FROM lake.raw.flights")
