"""The threat model claims what a test holds, and nothing else."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "docs" / "security" / "threat-model.md"
_TEST = re.compile(r"\[([^\]]+)\]\((\.\./\.\./tests/[\w/]+/test_\w+\.py)\)")


def claims() -> dict[str, list[tuple[str, str]]]:
    """Return each claim with the tests that hold it: the words of the test's name, and its file."""
    part = MODEL.read_text().split("\n## What is claimed\n")[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("| ")]
    return {claim.strip(): _TEST.findall(held) for claim, held in rows if claim.strip() != "claim"}


def test_every_claim_names_a_test() -> None:
    assert len(claims()) > 30
    assert [claim for claim, tests in claims().items() if not tests] == []


@pytest.mark.parametrize("tests", claims().values(), ids=claims())
def test_the_tests_of_a_claim_exist(tests: list[tuple[str, str]]) -> None:
    missing = [words for words, file in tests if not _is_there(words, MODEL.parent / file)]

    assert missing == []


def _is_there(words: str, file: Path) -> bool:
    name = words.lower().replace(" ", "_").replace("'", "")
    return file.exists() and re.search(rf"\bdef test_{name}\(", file.read_text()) is not None
