"""docs/semantics.md and the tests of the promises list the same promises, and the definition of a decision stays short."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from headgate.decision import reference
from tests.control import test_control_promises
from tests.control.kernel import test_command_promises
from tests.decision import test_reference_promises, test_reference_promises_of_models
from tests.store import test_log_promises

SEMANTICS = Path(__file__).parents[2] / "docs" / "semantics.md"
READABLE = 270
"""The maximum number of lines of the definition of a decision, which a reader can read in ten minutes."""


def _tested(module: ModuleType) -> Iterator[tuple[int, str]]:
    for name, test in inspect.getmembers(module, inspect.isfunction):
        if found := re.match(r"test_promise_(\d+)_", name):
            yield int(found[1]), (inspect.getdoc(test) or "").removesuffix(".")


def _written() -> Iterator[tuple[int, str]]:
    promise = 0
    for line in SEMANTICS.read_text().splitlines():
        if found := re.match(r"## Promise (\d+)", line):
            promise = int(found[1])
        elif line.startswith("### "):
            yield promise, line.removeprefix("### ")


def test_each_heading_is_a_test_and_each_test_a_heading() -> None:
    decisions = (test_reference_promises, test_reference_promises_of_models)
    writing = (test_control_promises, test_command_promises, test_log_promises)
    tested = sorted(each for module in (*decisions, *writing) for each in _tested(module))

    assert sorted(_written()) == tested
    assert len(set(tested)) == len(tested)


def test_every_promise_is_named_as_tested_or_to_come() -> None:
    text = SEMANTICS.read_text()

    assert [int(number) for number in re.findall(r"^## Promise (\d+)", text, re.MULTILINE)] == [*range(1, 13)]


def test_the_reference_of_decisions_can_be_read_in_ten_minutes() -> None:
    assert len(inspect.getsource(reference).splitlines()) <= READABLE
