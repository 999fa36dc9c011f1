"""Loader of `operations.yaml`: the actions that each operation requires on its resources."""

from headgate.model.diagnostics import DiagnosticReport, ModelError
from headgate.model.model import OperationNeed, OperationTable
from headgate.model.reader import Reader
from headgate.model.yaml_parser import parse_yaml


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
