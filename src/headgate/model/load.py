"""Loader of model files: returns a checked `Model`, or all mistakes of the file.

The stages: `yaml_parser` (text to values with positions), `parse_model` (to a model whose names exist), `check` (whether
its rules are consistent). A stage runs only if the one before found no error.
"""

import hashlib
from collections.abc import Collection

from headgate.model.check.check import check
from headgate.model.diagnostics import Diagnostic, DiagnosticReport, ModelError
from headgate.model.language_versions import NEWEST
from headgate.model.model import Model
from headgate.model.parse_model import read_language, read_model
from headgate.model.reader import Reader
from headgate.model.vocabulary import Vocabulary
from headgate.model.word_lists import expand_lists
from headgate.model.yaml_parser import parse_yaml


def load_model(text: str, actions: Vocabulary, file: str, conditions: Collection[str], language: int = NEWEST) -> Model:
    """Return the model of a file's text; `conditions` are the names of conditions that a `when` may use.

    `language` is the version of the model language of a file that names none. Raises `ModelError` with all diagnostics if one of
    them is an error; warnings alone do not prevent loading.
    """
    report = DiagnosticReport(file, language)
    model = _read(text, actions, report, conditions)
    if model is None or report.has_errors:
        raise ModelError(report.diagnostics())
    return model


def diagnose(text: str, actions: Vocabulary, file: str, conditions: Collection[str]) -> tuple[Diagnostic, ...]:
    """Return the errors and warnings of a model file, in the order of the file."""
    report = DiagnosticReport(file)
    _read(text, actions, report, conditions)
    return report.diagnostics()


def _read(text: str, actions: Vocabulary, report: DiagnosticReport, conditions: Collection[str]) -> Model | None:
    document = parse_yaml(text, report)
    if document is None or report.has_errors:
        return None
    read_language(document, report)
    document = expand_lists(document, report)
    if report.has_errors:
        return None
    hash = hashlib.sha256(text.encode()).hexdigest()
    model = read_model(document, Reader(report), actions, conditions, hash)
    if model is not None and not report.has_errors:
        check(model, document, actions.of_model(model), report)
    return model
