"""The inputs of Spark's SQL tests and its query files, read from the published jar and split as `SQLQueryTestSuite` does it."""

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from tools.compatibility.jobs import QUERY_FOLDERS, Job

INPUTS: Final = "sql-tests/inputs/"
LEFT_OUT: Final[Mapping[str, str]] = {
    "udf": "needs Scala and Python functions of the test suite",
    "udaf": "needs Python aggregates of the test suite",
    "udtf": "needs Python table functions of the test suite",
}
"""Folders of inputs that are not run, each with its reason."""
_DELIMITER: Final = "--QUERY-DELIMITER"
_UNSUPPORTED_FORMAT: Final = re.compile(r"\bUSING\s+`?(json|csv|text)`?(?=[\s;(]|$)", re.IGNORECASE)
_CREATES_TABLE: Final = re.compile(r"^\s*(CREATE|REPLACE)\s+(OR\s+REPLACE\s+)?TABLE\b", re.IGNORECASE)


class SqlInputs:
    """The files of a jar of tests, by their names in it."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    def golden(self) -> list[Job]:
        """Return the inputs of the SQL tests that need no functions of the test suite."""
        names = (name for name in sorted(self._files) if name.startswith(INPUTS))
        return [self._read(name) for name in names if _folder(name) not in LEFT_OUT]

    def queries(self, folder: str) -> list[Job]:
        """Return the files of a folder of queries, such as `tpcds`, as jobs."""
        found: list[Job] = []
        for name in sorted(self._files):
            if PurePosixPath(name).parent.as_posix() == folder:
                lines = self._files[name].splitlines()
                code = "\n".join(line for line in lines if not line.strip().startswith("--"))
                found.append(Job(name, tuple(part.strip() for part in code.split(";") if part.strip())))
        return found

    def left_out(self) -> dict[str, int]:
        """Return the number of statements in each folder that is not run."""
        counts = dict.fromkeys(LEFT_OUT, 0)
        for name in self._files:
            if name.startswith(INPUTS) and (folder := _folder(name)) in counts:
                counts[folder] += len(self._read(name).statements)
        return counts

    def _read(self, name: str) -> Job:
        comments, code = _split_comments(self._files[name])
        imported: list[str] = []
        for line in comments:
            if line.startswith("--IMPORT "):
                imported += _split_comments(self._files[INPUTS + line.removeprefix("--IMPORT ").strip()])[1]
        statements = tuple(map(rewrite_format, split_statements(imported + code)))
        return Job(name.removeprefix(INPUTS), statements, tuple(_settings(comments)))


def read_sql_inputs(jar: Path) -> SqlInputs:
    """Return the inputs of a jar of tests."""
    folders = {INPUTS.rstrip("/"), *QUERY_FOLDERS}
    with zipfile.ZipFile(jar) as archive:
        names = [name for name in archive.namelist() if name.endswith(".sql")]
        chosen = [name for name in names if name.startswith(INPUTS) or str(PurePosixPath(name).parent) in folders]
        return SqlInputs({name: archive.read(name).decode() for name in chosen})


def rewrite_format(statement: str) -> str:
    """Return a statement that creates a table, with Iceberg instead of a format that no Iceberg catalog has."""
    return _UNSUPPORTED_FORMAT.sub("USING iceberg", statement) if _CREATES_TABLE.search(statement) else statement


def split_statements(lines: Iterable[str]) -> list[str]:
    """Return the statements of lines of code; a statement ends at a semicolon, or is between two delimiters."""
    found: list[str] = []
    others: list[str] = []
    delimited: list[str] | None = None
    for line in lines:
        if line.strip().startswith(f"{_DELIMITER}-START"):
            found += _split_at_semicolons(others)
            others, delimited = [], []
        elif line.strip().startswith(f"{_DELIMITER}-END"):
            found.append("\n".join(delimited or []).rstrip().removesuffix(";"))
            delimited = None
        else:
            (others if delimited is None else delimited).append(line)
    found += _split_at_semicolons(others)
    return [statement for each in found if (statement := _without_comments(each))]


def _folder(name: str) -> str:
    return name.removeprefix(INPUTS).split("/")[0]


def _without_comments(statement: str) -> str:
    return "\n".join(line for line in statement.strip().split("\n") if not line.startswith("--")).strip()


def _split_comments(text: str) -> tuple[list[str], list[str]]:
    comments: list[str] = []
    code: list[str] = []
    for line in text.split("\n"):
        stripped = line.strip()
        is_comment = stripped.startswith("--") and not stripped.startswith(_DELIMITER)
        (comments if is_comment else code).append(line)
    return comments, code


def _settings(comments: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in comments:
        if line.startswith("--SET "):
            for pair in line.removeprefix("--SET ").split(","):
                key, _, value = pair.partition("=")
                yield key.strip(), value.strip()


def _split_at_semicolons(lines: Iterable[str]) -> list[str]:
    return re.split(r"(?<=[^\\]);", "\n".join(lines))
