"""The completion of names in a shell, which asks the API."""

from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from headgate.cli import completion
from headgate.cli.every_command import app
from tests.app.deployment_harness import DeploymentHarness, world_in


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("completion")) as opened:
        opened.add("vic")
        opened.add("val")
        yield opened


@pytest.fixture(autouse=True)
def server(world: DeploymentHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completion, "_WAIT", 30.0)  # a busy machine is no failure
    monkeypatch.setenv("HEADGATE_URL", str(world.http.base_url).rstrip("/"))
    monkeypatch.setenv("HEADGATE_TOKEN", world.tokens["owner"])


def completed(line: str) -> list[str]:
    """Return what a shell completes at the end of a line."""
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1), "_HEADGATE_COMPLETE": "complete_bash"}
    done = CliRunner().invoke(app, [], env=words, prog_name="headgate")
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("headgate resource show lake.r", ["lake.raw"]),
        ("headgate user show v", ["val", "vic"]),
        ("headgate assignment create vie", ["viewer"]),
        ("headgate assignment create viewer lake.raw --subject vi", ["vic"]),
        ("headgate pipeline run no-such", []),
    ],
)
def test_the_names_that_begin_with_the_word_are_completed(line: str, names: list[str]) -> None:
    assert completed(line) == names


def test_a_name_that_is_no_literal_word_of_a_shell_is_not_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shell evaluates what it completes, and other users choose the names."""
    odd = (
        "a$(x)",
        "a`x`",
        "a;x",
        "a x",
        r"a\$(x)",
        "a*",
        "a'b",
        'a"b',
        "a\nb",
        "a|b",
        "a&b",
        "a>b",
        "a~b",
        "a!b",
        "a{b,c}",
    )
    names = [*odd, "-a", "a.plain-name_1", "añejo", "a@b.example", "a/b"]
    monkeypatch.setattr(completion, "_ask_names", lambda *_: names)

    assert completion.complete_group("a") == ["a.plain-name_1", "a/b", "a@b.example", "añejo"]
    assert completion.complete_group("-") == []


def test_a_caller_completes_no_name_that_it_may_not_see(
    world: DeploymentHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADGATE_TOKEN", world.tokens["vic"])

    assert completed("headgate resource show lake.s") == []


@pytest.mark.parametrize(
    "variables", [{"HEADGATE_TOKEN": "hgt.x.y"}, {"HEADGATE_URL": "http://127.0.0.1:1"}, {"HEADGATE_URL": "no url"}]
)
def test_a_failure_completes_nothing(variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert completed("headgate resource show lake.") == []
