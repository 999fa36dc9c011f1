"""The commands that call the API, against a server."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headgate.cli.client import ApiError
from headgate.cli.every_command import app
from tests.app.deployment_harness import DeploymentHarness, world_in

Run = Callable[..., str]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("cli")) as opened:
        yield opened


@pytest.fixture
def run(world: DeploymentHarness, monkeypatch: pytest.MonkeyPatch) -> Run:
    def headgate(*words: str, model: str = "") -> str:
        place = world.organization(f"of-{model}", model) if model and f"of-{model}" not in known else None
        if place:
            known[f"of-{model}"] = place.tokens["owner"]
        address = f"{str(world.http.base_url).rstrip('/')}{f'/o/of-{model}' if model else ''}"
        monkeypatch.setenv("HEADGATE_URL", address)
        monkeypatch.setenv("HEADGATE_TOKEN", known.get(f"of-{model}", world.tokens["owner"]))
        monkeypatch.setenv("COLUMNS", "200")
        done = CliRunner().invoke(app, list(words))
        assert done.exit_code == 0, (done.output, done.exception)
        return done.output

    known: dict[str, str] = {}
    return headgate


def test_a_user_is_added_gets_roles_and_a_token_and_is_removed(run: Run) -> None:
    assert "vic is in the organization" in run("user", "create", "vic")
    run("group", "create", "the crew")
    run("group", "add-member", "the crew", "vic")
    assert "the crew" in run("group", "list")
    run("assignment", "create", "viewer", "lake.raw", "--subject", "the crew")
    assert "the crew" in run("assignment", "list")
    run("assignment", "delete", "viewer", "lake.raw", "--subject", "the crew")
    token = run("token", "create", "--principal", "vic", "--label", "ci", "--days", "1").strip()
    assert token.startswith("hgt.")
    listed = next(line for line in run("token", "list", "--principal", "vic").splitlines() if " ci " in line)
    assert re.search(r"ci +20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\+00:00", listed)
    run("token", "revoke", token.split(".")[1])
    run("user", "delete", "vic")
    assert "vic" not in run("user", "list")


def test_a_service_principal_is_created_listed_and_deleted(run: Run) -> None:
    run("service-principal", "create", "robot", "--role", "member")
    assert "robot" in run("service-principal", "list")
    run("service-principal", "delete", "robot")


def test_teams_custom_roles_and_settings_are_managed(run: Run) -> None:
    def mesh(*words: str) -> str:
        return run(*words, model="datamesh")

    mesh("team", "create", "sales", "--domain")
    assert "sales.shop" in mesh("team", "create", "shop", "--parent", "sales")
    mesh("team", "add-member", "sales.shop", "owner", "--role", "editor")
    mesh("team", "remove-member", "sales.shop", "owner")
    assert "sales.shop" in mesh("team", "list")
    mesh("role", "set", "lead", "TEAM_EDIT", "TEAM_ADD")
    assert "lead" in mesh("role", "list")
    mesh("role", "delete", "lead")
    mesh("setting", "set", "change_process", "true")
    assert "true" in mesh("setting", "list")


def test_a_project_is_created_and_listed(run: Run) -> None:
    run("project", "create", "one", model="onehouse")
    assert "one" in run("project", "list", model="onehouse")


def test_databases_are_listed_and_an_empty_list_names_the_list_of_all_resources(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("database", "create", "shop")
    assert "lake.shop" in run("database", "list")

    run("user", "create", "sam")
    token = run("token", "create", "--principal", "sam").strip()
    monkeypatch.setenv("HEADGATE_TOKEN", token)
    done = CliRunner().invoke(app, ["database", "list"])

    assert "lake.shop" not in done.stdout
    assert "there is no database that you may see; `headgate resource list` shows" in done.stderr


def test_connections_are_created_shown_and_get_new_secrets(run: Run, tmp_path: Path) -> None:
    password, headers = tmp_path / "password", tmp_path / "headers"
    password.write_text("open sesame\n")
    headers.write_text("Authorization: Bearer x:y\n\nX-Team: ours\n")
    shop = ("--postgresql", "[::1]:5433/shop", "--user", "headgate", "--password-file", str(password))

    assert "warning" not in run("connection", "create", "drop", str(tmp_path))
    missing = run("connection", "create", "later", str(tmp_path / "later"))
    assert f"warning: there is no folder `{tmp_path / 'later'}` on the server's machine yet" in missing
    run("connection", "create", "shop", *shop)
    run("connection", "create", "api", "--http", "https://api.example.org/v1", "--header-file", str(headers))

    assert all(name in run("connection", "list") for name in ("drop", "shop", "api"))
    shown = run("connection", "show", "shop")
    assert all(word in shown for word in ("::1", "5433", "headgate"))
    assert "sesame" not in shown
    assert "has a new secret" in run("connection", "set-secret", "shop", "--password-file", str(password))
    assert "has a new secret" in run("connection", "set-secret", "api", "--header-file", str(headers))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "pass exactly one of a folder, `--postgresql` and `--http`"),
        (("/drop", "--http", "https://x"), "pass exactly one of a folder, `--postgresql` and `--http`"),
        (("drop",), "`drop` is a relative path"),
        (("--postgresql", "db/shop"), "the user of the database is missing; pass it with `--user`"),
        (("--postgresql", "db", "--user", "u"), "write HOST:PORT/NAME"),
        (("--postgresql", "db:x/shop", "--user", "u"), "write HOST:PORT/NAME"),
        (("--http", "https://x", "--header-file", "no-such-file"), "there is no file `no-such-file`"),
    ],
)
def test_a_connection_with_invalid_arguments_is_not_created(words: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(app, ["connection", "create", "odd", *words])

    assert isinstance(done.exception, ApiError)
    assert said in str(done.exception)
