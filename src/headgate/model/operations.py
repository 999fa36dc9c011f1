"""Needs of operations: the actions that each operation requires on its resources, read from `operations.yaml`."""

from collections.abc import Mapping
from dataclasses import dataclass

from headgate.model.diagnostics import DiagnosticReport, ModelError
from headgate.model.reader import Reader
from headgate.model.yaml_parser import parse_yaml


@dataclass(frozen=True, slots=True)
class OperationNeed:
    """One action that an operation needs: the first of `verbs` that the model has, on the resource that it calls `place`.

    A verb with a dot is a whole action; a text in braces is a word of the operation.
    """

    place: str
    verbs: tuple[str, ...]


OperationTable = Mapping[str, tuple[OperationNeed, ...]]
"""The needs of each operation, in their order."""


def load_operations(text: str, file: str = "operations.yaml") -> OperationTable:
    """Return the needs of each operation. Raises `ModelError` for a key that is unknown or missing."""
    report = DiagnosticReport(file)
    read = Reader(report)
    found: dict[str, tuple[OperationNeed, ...]] = {}
    for key, needs in read.entries(parse_yaml(text, report)):
        rows = [read.fields(each, ("on", "verb")) for each in read.items(needs)]
        found[key.value] = tuple(
            OperationNeed(read.text(row.get("on")), tuple(word.value for word in read.word_or_words(row.get("verb"))))
            for row in rows
        )
    if report.has_errors:
        raise ModelError(report.diagnostics())
    return found
