"""`HEADGATE_URL` as people write it, and the message if no server answers."""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner, Result

from headgate.cli.deployment_url import configured_url, deployment_address, describe_unreachable, organization_in_url
from headgate.cli.errors import ApiError
from headgate.cli.every_command import app
from headgate.control.identity.principals import AddPrincipal
from headgate.facts.ids import PrincipalId
from tests.app.deployment_harness import DeploymentHarness, world_in

PASSWORD = "correct horse battery"  # noqa: S105 (of nobody)

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("addresses")) as opened:
        ann = PrincipalId("p_ann")
        opened.deployment.auth_services.authentication.register("ann", login="ann", password=PASSWORD, principal=ann)
        for place in (opened, opened.organization("acme", "nekt")):
            place.control.execute(AddPrincipal(ann, "ann", "admin"), None)
        yield opened


@pytest.fixture
def run(world: DeploymentHarness, monkeypatch: pytest.MonkeyPatch) -> Run:
    def headgate(*words: str, path: str = "", token: str | None = None) -> Result:
        monkeypatch.setenv("HEADGATE_URL", address(world) + path)
        monkeypatch.setenv("HEADGATE_TOKEN", token or world.tokens["owner"])
        return CliRunner().invoke(app, list(words))

    return headgate


def address(world: DeploymentHarness) -> str:
    return str(world.http.base_url).rstrip("/")


def why_not(url: str) -> str:
    with pytest.raises(httpx.TransportError) as caught:
        httpx.get(url, trust_env=False)
    return describe_unreachable(caught.value)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("localhost:8020", "has no scheme; write `http://localhost:8020` or `https://localhost:8020`"),
        ("http://localhost:8020/api/v1/", "ends with the path of the API; write `http://localhost:8020`"),
        (
            "http://localhost:8020/o/",
            "no name of an organization after `/o/`; write `http://localhost:8020/o/NAME` or `http://localh",
        ),
        ("http://localhost:8020/o", "has no name of an organization after `/o/`"),
        ("http://localhost:8020/o//acme", "has no name of an organization after `/o/`"),
    ],
)
def test_an_invalid_address_is_refused_with_what_to_write(
    monkeypatch: pytest.MonkeyPatch, written: str, said: str
) -> None:
    monkeypatch.setenv("HEADGATE_URL", written)

    with pytest.raises(ApiError) as caught:
        configured_url()

    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("written", "deployment", "organization"),
    [
        ("http://o/", "http://o", None),
        ("http://o/o/acme", "http://o", "acme"),
        ("https://lake.example/below/o/a%20b", "https://lake.example/below", "a b"),
    ],
)
def test_an_address_may_name_an_organization(
    monkeypatch: pytest.MonkeyPatch, written: str, deployment: str, organization: str | None
) -> None:
    monkeypatch.setenv("HEADGATE_URL", written)

    assert (deployment_address(), organization_in_url(configured_url())) == (deployment, organization)


def test_a_slash_at_the_end_of_an_address_does_not_count(run: Run) -> None:
    assert run("auth", "whoami", path="/").exit_code == 0


def test_a_refused_connection_names_the_address_and_the_cause() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    assert why_not(f"http://127.0.0.1:{port}/api/v1/me").startswith(
        f"no Headgate server answers at `http://127.0.0.1:{port}` (the connection was refused); start it"
    )


def test_a_missing_server_is_reported_before_a_missing_credential(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    for name in ("HEADGATE_TOKEN", "HEADGATE_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HEADGATE_URL", url)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    assert isinstance(CliRunner().invoke(app, ["resource", "list"]).exception, httpx.ConnectError)
    assert "start it with `headgate serve`, or set HEADGATE_URL" in why_not(url)

    (tmp_path / ".headgate-demo").mkdir()
    assert "start it with `headgate serve` (`headgate demo` for the data in `.headgate-demo`), or" in why_not(url)


def test_a_missing_token_of_the_owner_names_the_data_of_the_demo(
    tmp_path: Path, world: DeploymentHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HEADGATE_TOKEN", "HEADGATE_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HEADGATE_URL", address(world))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    assert "server of the demo" not in str(CliRunner().invoke(app, ["resource", "list"]).exception)

    (tmp_path / ".headgate-demo").mkdir()
    said = str(CliRunner().invoke(app, ["resource", "list"]).exception)
    assert said.endswith("; for the server of the demo, set HEADGATE_DATA=.headgate-demo")


def test_an_unknown_host_is_named_in_the_message() -> None:
    assert "`http://no.such.host.invalid` (the host name" in why_not("http://no.such.host.invalid/")


def test_a_server_without_tls_is_distinguished_from_one_that_is_down(world: DeploymentHarness) -> None:
    assert "it does not speak TLS: write `http://`" in why_not(address(world).replace("http://", "https://"))


def test_the_status_names_address_organization_and_caller(run: Run, world: DeploymentHarness) -> None:
    done = run("status")

    assert done.exit_code == 0
    assert f"{address(world)}, organization main, as owner by the token in HEADGATE_TOKEN" in done.stdout


def test_the_status_without_spark_names_no_port(run: Run) -> None:
    assert "sc://" not in run("status").stdout


@pytest.mark.parametrize(("path", "token"), [("", "hgt.wrong.token"), ("/o/acmex", None)])
def test_the_status_of_an_unknown_caller_fails_although_the_api_answers(run: Run, path: str, token: str | None) -> None:
    done = run("status", path=path, token=token)

    assert (done.exit_code, "api ok" in done.stdout) == (1, True)
    assert "authorization" not in str(done.exception).lower()


def test_a_foreign_and_a_missing_organization_get_the_same_message(run: Run) -> None:
    said = {
        path: str(run("auth", "whoami", path=f"/o/{path}").exception).replace(path, "X") for path in ("acme", "acmex")
    }

    assert said["acme"] == said["acmex"]
    assert said["acme"].startswith(
        "you are not a member of an organization `X`, or your login has expired; log in with"
    )


def test_a_caller_in_several_organizations_reads_how_to_choose_one(run: Run, world: DeploymentHarness) -> None:
    done = run("auth", "whoami", token=world.deployment.auth_services.authentication.log_in("ann", PASSWORD, {}).secret)

    assert "choose one: `export HEADGATE_URL=" in str(done.exception)
    assert "/o/acme`" in str(done.exception)
