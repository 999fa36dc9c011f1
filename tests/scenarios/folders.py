"""Folders of scenarios: the delivered suite, those of the tests, and those of example models."""

from pathlib import Path

_TESTS = Path(__file__).resolve().parents[1]

CONFORMANCE = _TESTS / "conformance"

FOLDERS = (
    CONFORMANCE,
    *sorted(path.parent for path in (_TESTS / "scenarios").glob("*/cases")),
    *sorted(path.parent for path in (_TESTS.parent / "examples" / "models").glob("*/cases")),
)
