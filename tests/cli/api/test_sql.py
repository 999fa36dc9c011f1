"""`headgate sql`: a statement's rows in the form that is wanted, and its end."""

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

import pyarrow as pa
import pytest
from typer.testing import CliRunner, Result

from headgate.cli.client import ApiError
from headgate.cli.every_command import app
from headgate.endpoints.api.sql.schemas import PAGE
from headgate.spark.sql.statement_store import StatementStore
from headgate.spark.sql.statements import SqlLimits, StatementError
from tests.app.deployment_harness import DeploymentHarness, world_in
from tests.fakes.statements import FakeSpark

Run = Callable[..., Result]
ROWS = pa.RecordBatch.from_pydict({"n": [1, 2], "word": ["a,b", None]})


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("cli")) as opened:
        yield opened


@pytest.fixture
def run(world: DeploymentHarness, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("HEADGATE_URL", str(world.http.base_url).rstrip("/"))
    monkeypatch.setenv("HEADGATE_TOKEN", world.tokens["owner"])
    monkeypatch.setenv("COLUMNS", "200")

    def headgate(spark: FakeSpark, *words: str) -> Result:
        statements = StatementStore(spark, SqlLimits())
        world.app.state.deployed = replace(world.app.state.deployed, statements=statements)
        return CliRunner().invoke(app, ["sql", *words])

    return headgate


class TestRows:
    def test_rows_are_printed_as_a_table(self, run: Run) -> None:
        done = run(FakeSpark(ROWS), "SELECT 1")

        assert [line.split() for line in done.stdout.splitlines()] == [["n", "word"], ["1", "a,b"], ["2"]]

    def test_rows_are_printed_as_json_objects_line_by_line(self, run: Run) -> None:
        done = run(FakeSpark(ROWS), "SELECT 1", "--output", "json")

        assert [json.loads(line) for line in done.stdout.splitlines()] == [
            {"n": 1, "word": "a,b"},
            {"n": 2, "word": None},
        ]

    def test_rows_are_printed_as_csv(self, run: Run) -> None:
        assert run(FakeSpark(ROWS), "SELECT 1", "--output", "csv").stdout == 'n,word\n1,"a,b"\n2,\n'

    def test_rows_are_written_to_a_file_as_an_arrow_stream(self, run: Run, tmp_path: Path) -> None:
        file = tmp_path / "rows.arrow"

        assert run(FakeSpark(ROWS), "SELECT 1", "--output", "arrow", "--output-file", str(file)).exit_code == 0

        assert pa.ipc.open_stream(file.read_bytes()).read_all().to_pylist() == ROWS.to_pylist()

    def test_rows_as_an_arrow_stream_require_a_file(self, run: Run) -> None:
        assert isinstance(run(FakeSpark(), "SELECT 1", "--output", "arrow").exception, ApiError)

    def test_a_file_for_rows_in_another_form_is_refused(self, run: Run, tmp_path: Path) -> None:
        done = run(FakeSpark(ROWS), "SELECT 1", "--output", "csv", "--output-file", str(tmp_path / "rows.csv"))

        assert str(done.exception).startswith("`--output-file` is for `--output arrow`")
        assert not list(tmp_path.iterdir())

    def test_rows_beyond_the_limit_are_not_printed(self, run: Run) -> None:
        done = run(FakeSpark(ROWS), "SELECT 1", "--limit", "1", "--output", "csv")

        assert done.stdout == 'n,word\n1,"a,b"\n'

    def test_rows_of_several_pages_are_all_printed(self, run: Run) -> None:
        spark = FakeSpark(pa.RecordBatch.from_pydict({"n": list(range(PAGE + 3))}))

        done = run(spark, "SELECT 1", "--limit", str(PAGE + 3), "--output", "csv")

        assert done.stdout.splitlines()[-1] == str(PAGE + 2)
        assert len(done.stdout.splitlines()) == PAGE + 4
        assert spark.last.why == "its caller cancelled it"


class TestAStatement:
    def test_rows_that_are_too_large_for_one_answer_are_fetched_in_parts(self, run: Run) -> None:
        texts = [letter * 7_000_000 for letter in "abcde"]
        spark = FakeSpark(pa.RecordBatch.from_pydict({"text": texts}))

        done = run(spark, "SELECT 1", "--output", "csv")

        assert done.stdout.splitlines() == ["text", *texts]

    def test_a_statement_accepts_parameters_by_name(self, run: Run) -> None:
        spark = FakeSpark()

        run(spark, "SELECT :a", "--param", "a=1", "--param", "b=x y", "--param", "c=null", "--param", "d=[1]")

        assert spark.last.wanted.parameters == {"a": 1, "b": "x y", "c": None, "d": "[1]"}

    @pytest.mark.parametrize("name", ["lake.a.b;touch pwned", "lake.a.x`y`touch pwned`", "lake.a.$(touch pwned)'"])
    def test_a_refusal_names_the_command_that_requests_access_and_nothing_else_for_a_shell(
        self, run: Run, name: str, tmp_path: Path
    ) -> None:
        link = f"http://x/api/v1/requests?{urlencode({'action': 'table.select', 'resource': name})}"
        text = f"vic: there is no such table. To ask for access: {link}"

        done = run(FakeSpark(error=StatementError(text, "42501", None)), "SELECT 1")

        said, _, command = str(done.exception).partition(". To ask for access: ")
        assert said == "vic: there is no such table"
        # As a user copies it: whatever the name, the shell runs one command.
        shell = f"headgate() {{ printf '%s\\n' \"$@\"; }}; {command}"
        words = subprocess.run(
            ["/bin/sh", "-c", shell], cwd=tmp_path, capture_output=True, text=True, check=False
        ).stdout
        assert words.splitlines() == ["request", "create", "table.select", name, "--purpose", "PURPOSE"]
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("slow", [0.0, 1.0])
    def test_a_failed_statement_reports_its_error(self, run: Run, slow: float) -> None:
        done = run(FakeSpark(error=StatementError("not allowed", "42501", None), slow=slow), "SELECT 1")

        assert isinstance(done.exception, ApiError)
        assert str(done.exception) == "not allowed"

    def test_a_statement_with_a_parameter_without_a_value_is_not_sent(self, run: Run) -> None:
        spark = FakeSpark()

        assert isinstance(run(spark, "SELECT :a", "--param", "a").exception, ApiError)
        assert spark.begun == []

    def test_a_statement_without_a_result_prints_nothing(self, run: Run) -> None:
        nothing = pa.RecordBatch.from_arrays([], names=[])

        assert run(FakeSpark(nothing), "CREATE TABLE t (n INT)").stdout == ""
