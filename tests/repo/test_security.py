"""The threat model: each claim names tests, and these tests exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "docs" / "security" / "threat-model.md"
RETAINED = ROOT / "docs" / "security" / "retained-rows.md"
SOAK = "soak"
"""The mark of long tests. The mark is not written in one piece here: a file that contains it counts as one with long tests."""
LEFT_TO_THE_SOAK_RUN = {
    "A statement on a cluster is ended when a required privilege is revoked",
    "Credentials of the driver are not sent to executors: neither in their environment or arguments, nor with a task",
}
"""Claims whose tests are too slow for `make test`: each needs the runs of a cluster."""
_TEST = re.compile(r"\[([^\]]+)\]\((\.\./\.\./tests/[\w/]+/test_\w+\.py)\)")


def claims() -> dict[str, list[tuple[str, str]]]:
    """Return each claim with its tests: the words of the test's name, and its file."""
    return rows(MODEL.read_text().split("\n## What is claimed\n")[1].split("\n## ")[0], "claim")


def rows(text: str, head: str) -> dict[str, list[tuple[str, str]]]:
    """Return the first cell of each row of the tables in a text, and the tests that its last cell names."""
    cells = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")]
    return {first.strip(): _TEST.findall(rest[-1]) for first, *rest in cells if first.strip() != head}


def test_every_claim_names_a_test() -> None:
    assert len(claims()) > 30
    assert [claim for claim, tests in claims().items() if not tests] == []


@pytest.mark.parametrize("tests", claims().values(), ids=claims())
def test_the_tests_of_a_claim_exist(tests: list[tuple[str, str]]) -> None:
    missing = [words for words, file in tests if not _is_there(words, MODEL.parent / file)]

    assert missing == []


def test_every_claim_has_a_test_that_is_not_left_to_the_soak_run() -> None:
    left = {
        claim
        for claim, tests in claims().items()
        if all(_is_of_the_soak_run(words, MODEL.parent / file) for words, file in tests)
    }

    assert left == LEFT_TO_THE_SOAK_RUN


def test_every_holder_of_rows_names_a_test_that_is_there() -> None:
    holders = rows(RETAINED.read_text(), "holder")

    assert len(holders) > 10
    assert [holder for holder, tests in holders.items() if not tests] == []
    missing = [
        words for tests in holders.values() for words, file in tests if not _is_there(words, MODEL.parent / file)
    ]
    assert missing == []


def _is_there(words: str, file: Path) -> bool:
    return file.exists() and re.search(rf"\bdef {_function(words)}\(", file.read_text()) is not None


def _is_of_the_soak_run(words: str, file: Path) -> bool:
    tree = ast.parse(file.read_text())
    mark = f"mark.{SOAK}"
    marks = [ast.unparse(each) for each in tree.body if isinstance(each, ast.Assign)]
    decorators = [
        ast.unparse(decorator)
        for each in ast.walk(tree)
        if isinstance(each, ast.FunctionDef) and each.name == _function(words)
        for decorator in each.decorator_list
    ]
    return f"pytest.{mark}" in decorators or any(each.startswith("pytestmark =") and mark in each for each in marks)


def _function(words: str) -> str:
    return f"test_{words.lower().replace(' ', '_').replace(chr(39), '')}"
