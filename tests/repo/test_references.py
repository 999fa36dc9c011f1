"""References resolve: every module, class and Scala file that a text names exists, and a link's text is its file's name."""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests", "docs", "bench", "tools", "examples")
SUFFIXES = (".py", ".md", ".scala", ".txt", ".toml", ".yaml", "")
REFERENCE = re.compile(r"`(headgate(?:\.\w+)+)`")
SCALA = re.compile(r"\b([A-Z]\w+\.scala)\b")
LINK = re.compile(r"\[([\w/]+\.(?:py|scala))\]\(([^)]+)\)")
FILES = ("headgate.db",)
"""Names of files that look like modules."""


def texts() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file that may refer to another one."""
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.is_file() and file.suffix in SUFFIXES and "__pycache__" not in file.parts:
                yield str(file.relative_to(ROOT)), file.read_text(encoding="utf-8", errors="ignore")


def found(pattern: re.Pattern[str]) -> list[tuple[str, ...]]:
    """Return the matches of a pattern, each with its file."""
    return [(file, *match.groups()) for file, text in texts() for match in pattern.finditer(text)]


def exists(reference: str) -> bool:
    parts = reference.split(".")
    for length in range(len(parts), 0, -1):
        try:
            part_of: object = import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            part_of = getattr(part_of, part, None)
        return part_of is not None
    return False


def test_every_reference_to_a_module_or_class_leads_to_one() -> None:
    references = [each for each in found(REFERENCE) if each[1] not in FILES]

    assert len(references) > 10
    assert [each for each in references if not exists(each[1])] == []
    assert not exists("headgate.spark.sql.statements.Reading")


def test_every_scala_file_that_a_text_names_exists() -> None:
    files = {file.name for folder in FOLDERS for file in (ROOT / folder).rglob("*.scala")}
    named = [each for each in found(SCALA) if not each[0].startswith("tests/spark/guard/programs")]

    assert len(named) > 10
    assert [each for each in named if each[1] not in files] == []


def test_every_link_to_a_module_is_called_as_its_file() -> None:
    links = found(LINK)

    assert len(links) > 100
    assert [each for each in links if not each[2].partition("#")[0].endswith(each[1])] == []
