"""Loading a model file: text in, a checked `Model` out, or every mistake that it makes.

The stages: `yaml_parser` (text to values with places), `parse_model` (to a model whose names exist), `check` (whether its
rules make sense together). A stage begins when the one before found no error.
"""

import hashlib
from collections.abc import Collection

from headgate.model.check.check import check
from headgate.model.diagnostics import Diagnostic, DiagnosticReport, ModelError
from headgate.model.model import Model
from headgate.model.parse_model import read_model
from headgate.model.reader import Reader
from headgate.model.vocabulary import Vocabulary
from headgate.model.yaml_parser import parse_yaml


def load_model(text: str, actions: Vocabulary, file: str, conditions: Collection[str]) -> Model:
    """Return the model that the text states; `conditions` are the names that a `when` may use.

    Raises `ModelError` with every mistake that was found. Warnings do not count.
    """
    report = DiagnosticReport(file)
    model = _read(text, actions, report, conditions)
    if model is None or report.has_errors:
        raise ModelError(report.diagnostics())
    return model


def diagnose(text: str, actions: Vocabulary, file: str, conditions: Collection[str]) -> tuple[Diagnostic, ...]:
    """Return what is wrong with a model file, warnings too, in the order of the file."""
    report = DiagnosticReport(file)
    _read(text, actions, report, conditions)
    return report.diagnostics()


def _read(text: str, actions: Vocabulary, report: DiagnosticReport, conditions: Collection[str]) -> Model | None:
    document = parse_yaml(text, report)
    if document is None or report.has_errors:
        return None
    hash = hashlib.sha256(text.encode()).hexdigest()
    model = read_model(document, Reader(report), actions, conditions, hash)
    if model is not None and not report.has_errors:
        check(model, document, actions, report)
    return model
