"""A text that names a module or a class of Headgate by its full name names one that exists."""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]
REFERENCE = re.compile(r"`(headgate(?:\.\w+)+)`")
FOLDERS = ("src", "tests", "docs", "bench", "tools")
FILES = ("headgate.db",)
"""Names of files that look like one."""


def references() -> Iterator[tuple[str, str]]:
    """Yield each file with a reference in it."""
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.*")):
            if file.suffix in (".py", ".md", ".scala"):
                for found in REFERENCE.finditer(file.read_text(encoding="utf-8")):
                    yield str(file.relative_to(ROOT)), found[1]


def exists(reference: str) -> bool:
    parts = reference.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            found = getattr(found, part, None)
        return found is not None
    return False


def test_every_reference_to_a_module_or_class_leads_to_one() -> None:
    found = [each for each in references() if each[1] not in FILES]

    assert len(found) > 10
    assert [each for each in found if not exists(each[1])] == []
    assert not exists("headgate.spark.sql.statements.Reading")
