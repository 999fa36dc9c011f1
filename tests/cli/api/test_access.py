"""`headgate access`, against a server."""

from collections.abc import Callable, Iterator

import pytest
from typer.testing import CliRunner

from headgate.cli.every_command import app
from tests.app.deployment_harness import DeploymentHarness, world_in

Ask = Callable[..., str]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("questions")) as opened:
        opened.add("vic")
        opened.give("vic", "viewer", "lake.raw")
        opened.add("sam")
        yield opened


@pytest.fixture
def ask(world: DeploymentHarness, monkeypatch: pytest.MonkeyPatch) -> Ask:
    monkeypatch.setenv("HEADGATE_URL", str(world.http.base_url).rstrip("/"))
    monkeypatch.setenv("HEADGATE_TOKEN", world.tokens["owner"])

    def run(*words: str) -> str:
        done = CliRunner().invoke(app, ["access", *words])
        return f"{done.exit_code} {done.output}{done.exception or ''}"

    return run


@pytest.fixture
def explain(ask: Ask) -> Ask:
    return lambda *words: ask("explain", *words)


@pytest.mark.parametrize(
    "command", [("explain", "lake.raw"), ("check", "lake.raw"), ("list-principals", "lake.raw"), ("list-resources",)]
)
def test_an_action_that_does_not_exist_is_an_error(ask: Ask, command: tuple[str, ...]) -> None:
    noun, *resource = command
    expected = "1 there is no action `database.descrive`; did you mean `database.describe`?"

    assert ask(noun, "database.descrive", *resource) == expected


def test_an_action_on_another_type_is_an_error(explain: Ask) -> None:
    assert explain("table.select", "lake.raw", "--principal", "vic").endswith(
        "`lake.raw` has the type database; choose another action or resource"
    )


def test_a_denial_names_the_missing_role(explain: Ask) -> None:
    told = explain("database.create_table", "lake.raw", "--principal", "vic")

    assert told.startswith("0 ")
    assert "  vic does not hold `editor` on `lake.raw`\n" in told


def test_a_denial_reports_that_the_subject_may_not_see_the_resource(explain: Ask) -> None:
    assert "  sam may not see `lake.raw`\n" in explain("database.describe", "lake.raw", "--principal", "sam")


def test_an_allow_states_when_the_access_ends(explain: Ask, world: DeploymentHarness) -> None:
    tim = world.add("tim")
    body = {"subject": tim, "role": "viewer", "resource": "lake.raw", "ends": 4102444800.0}
    assert world.call("owner", "POST", "/assignments", body).status_code == 201

    told = explain("database.describe", "lake.raw", "--principal", "tim")

    assert "tim was assigned viewer on lake.raw, until 2100-01-01 00:00:00+00:00" in told


def test_an_allow_names_the_assignment_that_gives_it(explain: Ask) -> None:
    assert "vic was assigned viewer on lake.raw" in explain("database.describe", "lake.raw", "--principal", "vic")


class TestAnAssignment:
    def test_a_check_of_an_assignment_accepts_its_role_and_subject(self, ask: Ask) -> None:
        assert ask("check", "assignment.add", "lake.raw", "--role", "viewer", "--subject", "sam").startswith("0 ")

    def test_a_check_of_an_assignment_without_a_role_is_an_error(self, ask: Ask) -> None:
        for command in ("check", "explain"):
            told = ask(command, "assignment.add", "lake.raw", "--subject", "sam")

            assert told == "1 `assignment.add` needs the role of the assignment; pass it with `--role`"

    def test_a_misspelt_role_is_an_error_that_lists_the_roles(self, ask: Ask) -> None:
        told = ask("check", "assignment.add", "lake.raw", "--role", "vewer", "--subject", "sam")

        assert "has no role `vewer`; its roles on this resource are editor, manager, viewer" in told

    def test_a_misspelt_subject_is_an_error(self, ask: Ask) -> None:
        told = ask("check", "assignment.add", "lake.raw", "--role", "viewer", "--subject", "sma")

        assert "there is no `sma` that you may see" in told

    def test_options_of_an_assignment_are_refused_for_another_action(self, ask: Ask) -> None:
        told = ask("check", "database.describe", "lake.raw", "--role", "viewer")

        assert "`database.describe` is none; leave these options out" in told


def test_the_subject_of_a_question_changes_no_unknown_action(world: DeploymentHarness) -> None:
    asked = {"action": "database.descrive", "resource": "lake.raw"}
    for subject in ({}, {"subject": "vic"}, {"subject": "sam"}):
        answer = world.call("owner", "POST", "/questions/explain", {**asked, **subject}).json()

        assert answer["missing"]["code"] == "unknown-action", subject
