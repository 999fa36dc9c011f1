"""The example models of Polaris, Lakekeeper and Snowflake: they have no mistakes, and decide every case as it expects."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headgate.cli.every_command import app
from headgate.cli.scenarios.folders import System, read_folder
from headgate.conformance.http.runner import HttpScenarioRunner, scenario_server
from headgate.conformance.runner import ALLOW, DENY, ConformanceCase, run_case
from headgate.conformance.small_changes import depends_on_world
from headgate.decision.engine.engine import Engine
from headgate.decision.evaluator import Reference
from headgate.model.formatter import format_model

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "models"

RULES = {
    "polaris": ("PO", (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)),
    "lakekeeper": ("LK", (1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13)),
    "snowflake": ("SF", (1, 2, 3, 4, 5, 6)),
}
"""The rules of each product that the language once could not express: the prefix of their ids, and their numbers."""

FEWEST = 3
"""The fewest cases of each rule."""


@pytest.fixture(scope="module", params=sorted(RULES))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def opened() -> Iterator[HttpScenarioRunner]:
    with scenario_server() as found:
        yield found


def read(name: str, engine: type[Engine] | type[Reference] = Engine) -> System:
    [found] = read_folder(FOLDER / name, engine)
    return found


def test_the_model_has_neither_errors_nor_warnings(name: str) -> None:
    done = CliRunner().invoke(app, ["model", "check", str(FOLDER / name / f"{name}.yaml")])

    assert done.output.splitlines() == ["1 checked, 0 errors, 0 warnings"]


def test_the_model_is_formatted(name: str) -> None:
    text = (FOLDER / name / f"{name}.yaml").read_text(encoding="utf-8")

    assert format_model(text) == text


@pytest.mark.parametrize("engine", [Engine, Reference])
def test_every_case_is_decided_as_it_expects(name: str, engine: type[Engine] | type[Reference]) -> None:
    system = read(name, engine)

    outcomes = [run_case(system.world, case) for case in system.cases]

    assert [f"{each.case.id}: {each.answer}, {each.why}" for each in outcomes if not each.passed] == []


@pytest.mark.timeout(120)
def test_every_case_is_answered_over_http_as_it_expects(name: str, opened: HttpScenarioRunner) -> None:
    system = read(name)

    outcomes = [run_case(system.world, case, opened.ask) for case in system.cases]

    assert [f"{each.case.id}: {each.answer}, {each.why}" for each in outcomes if not each.passed] == []


def test_every_rule_has_cases_that_allow_and_that_deny(name: str) -> None:
    prefix, numbers = RULES[name]
    cases = read(name).cases

    for number in numbers:
        expected = [case.expect for case in cases if case.id.startswith(f"{prefix}-{number}-")]
        assert len(expected) >= FEWEST, number
        assert {ALLOW, DENY} <= set(expected), number


def test_a_denial_depends_on_one_small_change_or_on_one_word_of_the_case(name: str) -> None:
    """A denial that no small change of the world turns into an allow has a neighbour: a case that differs in one thing and allows."""
    system = read(name)
    allowed = [case for case in system.cases if case.expect == ALLOW]

    firm = [case for case in system.cases if not depends_on_world(system.world, case)]

    assert [case.id for case in firm if all(_count_differences(case, each) > 1 for each in allowed)] == []


def _count_differences(case: ConformanceCase, other: ConformanceCase) -> int:
    """Return the number of steps and words of the question in which two cases differ."""
    steps, others = (Counter(map(repr, each.given)) for each in (case, other))
    words, other_words = dict(_words(case.ask)), dict(_words(other.ask))
    return sum(((steps - others) + (others - steps)).values()) + sum(
        words.get(key) != other_words.get(key) for key in words | other_words
    )


def _words(ask: Any) -> Iterator[tuple[str, str]]:
    for key, value in ask.items():
        yield from _words(value) if isinstance(value, dict) else ((key, repr(value)),)
