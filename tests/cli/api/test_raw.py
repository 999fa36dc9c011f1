"""`headgate api`, against a server."""

from collections.abc import Callable, Iterator

import pytest
from typer.testing import CliRunner, Result

import headgate.cli
from headgate.cli.errors import ApiError
from headgate.cli.every_command import app
from tests.app.deployment_harness import DeploymentHarness, world_in

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("anything")) as opened:
        yield opened


@pytest.fixture
def run(world: DeploymentHarness, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("HEADGATE_URL", str(world.http.base_url).rstrip("/"))
    monkeypatch.setenv("HEADGATE_TOKEN", world.tokens["owner"])
    return lambda *words: CliRunner().invoke(app, ["api", *words])


@pytest.mark.parametrize("path", ["/api/v1/me", "api/v1/me"])
def test_a_path_needs_no_leading_slash(run: Run, path: str) -> None:
    done = run("GET", path)

    assert done.exit_code == 0, done.output
    assert '"name": "owner"' in done.stdout


def test_the_query_of_a_path_is_sent(run: Run) -> None:
    assert '"items": []' in run("GET", "/api/v1/databases?q=no-such").stdout
    assert '"items": []' in run("GET", "/api/v1/databases?q=no-such", "limit=3").stdout
    assert "there is no such query parameter" in run("GET", "/api/v1/databases?wich=own").stderr


def test_a_dry_run_in_the_query_of_a_path_changes_nothing(run: Run, world: DeploymentHarness) -> None:
    before = world.control.snapshot.revision

    done = run("POST", "/api/v1/groups?dry_run=true", "name=the crew")

    assert '"dry_run": true' in done.stdout
    assert world.control.snapshot.revision == before


def test_an_unknown_path_is_reported_in_one_sentence(run: Run) -> None:
    done = run("GET", "nothing")

    assert done.exit_code == 1
    assert "`GET /nothing` is not a route of the server" in done.stderr


def test_a_method_that_does_not_exist_is_refused_before_anything_is_sent(run: Run) -> None:
    done = run("BLA", "/api/v1/me")

    assert done.exit_code == 2
    assert "`BLA` is not an HTTP method; write one of GET, POST, PUT, PATCH, DELETE" in done.stderr


def test_a_method_may_be_in_lower_case(run: Run) -> None:
    assert run("get", "/api/v1/me").exit_code == 0


def test_a_fault_of_a_form_names_the_field(run: Run) -> None:
    done = run("POST", "/api/v1/databases", "title=x")

    assert done.exit_code == 1
    assert "the request is invalid: name: the field is missing; add it" in done.stderr


def test_an_unusable_address_is_reported_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEADGATE_URL", "http://localhost:port")
    monkeypatch.setenv("HEADGATE_TOKEN", "x")
    monkeypatch.setattr("sys.argv", ["headgate", "api", "GET", "/api/v1/me"])

    with pytest.raises(SystemExit) as ended:
        headgate.cli.main()

    assert ended.value.code == 1
    assert "check HEADGATE_URL" in " ".join(capsys.readouterr().err.split())


def test_a_field_with_a_number_that_is_not_finite_is_refused(run: Run) -> None:
    done = run("POST", "/api/v1/tokens", "days:=NaN")

    assert done.exit_code == 2
    assert "`NaN` after `days:=` is not JSON; write valid JSON, or `days=` for a text" in done.stderr


def test_a_reason_that_a_header_cannot_contain_is_refused(run: Run) -> None:
    done = run("POST", "/api/v1/databases", "name=x", "--reason", "für x")

    assert isinstance(done.exception, ApiError)
    assert "in ASCII" in str(done.exception)
