"""Reads the egress policy, the file of `HEADGATE_EGRESS`: YAML with the folders and hosts that connections may reach."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from headgate.app.settings.variable import VALUE
from headgate.control.egress import EgressPolicy, EgressRules, HostRule, parse_host_rule
from headgate.model.diagnostics import DiagnosticReport
from headgate.model.yaml_parser import ListNode, MapNode, Node, ScalarNode, parse_yaml

_ORGANIZATIONS, _FOLDERS, _HOSTS = "organizations", "folders", "hosts"


class _FaultError(ValueError):
    """A fault in the file; `at` is the node with its line and column."""

    def __init__(self, at: Node, fault: str) -> None:
        super().__init__(fault)
        self.at = at


def read_egress_file(file: Path) -> EgressPolicy:
    """Return the policy of a file. Raises `ValueError` with file, line, column and fault."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(
            f"{VALUE} is not a readable file ({error.strerror}); correct its path or permissions"
        ) from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{VALUE} is not UTF-8 text ({error}); correct the file") from None
    report = DiagnosticReport(str(file))
    document = parse_yaml(text, report)
    if document is None or report.has_errors:
        raise ValueError(f"{VALUE} is not a valid egress policy: {report.diagnostics()[0]}; correct the file")
    try:
        return EgressPolicy({name.value: _rules(value) for name, value in _organizations(document)})
    except _FaultError as fault:
        raise ValueError(
            f"{VALUE} is not a valid egress policy: {file}:{fault.at.line}:{fault.at.column}: {fault}; correct the file"
        ) from None


def _organizations(document: Node) -> Iterator[tuple[ScalarNode, Node]]:
    for key, value in _table(document, f"expected a mapping with `{_ORGANIZATIONS}`"):
        if key.value != _ORGANIZATIONS:
            raise _FaultError(key, f"unknown key `{key.value}`; the only key is `{_ORGANIZATIONS}`")
        yield from _table(value, "expected a mapping of organizations, by their ids or `*` for all")


def _rules(document: Node) -> EgressRules:
    found: dict[str, tuple[ScalarNode, ...]] = {_FOLDERS: (), _HOSTS: ()}
    for key, value in _table(document, f"expected a mapping with `{_FOLDERS}` and `{_HOSTS}`"):
        if key.value not in found:
            raise _FaultError(key, f"unknown key `{key.value}`; the keys are `{_FOLDERS}` and `{_HOSTS}`")
        found[key.value] = _texts(key.value, value)
    return EgressRules(tuple(map(_folder, found[_FOLDERS])), tuple(map(_host, found[_HOSTS])))


def _table(value: Node, expected: str) -> tuple[tuple[ScalarNode, Node], ...]:
    if not isinstance(value, MapNode):
        raise _FaultError(value, expected)
    return value.entries


def _texts(key: str, value: Node) -> tuple[ScalarNode, ...]:
    if not isinstance(value, ListNode):
        raise _FaultError(value, f"expected a list as the value of `{key}`, such as `[a, b]`")
    texts = tuple(each for each in value.values if isinstance(each, ScalarNode))
    if len(texts) < len(value.values):
        raise _FaultError(
            value,
            f"expected a list of strings as the value of `{key}`; put a string that begins with `*`, `[` or `{{` in quotes",
        )
    return texts


def _folder(text: ScalarNode) -> PurePosixPath:
    path = PurePosixPath(text.value)
    if not path.is_absolute() or ".." in path.parts or "\0" in text.value:
        raise _FaultError(
            text, f"`{text.value}` is not the absolute path of a folder; begin it with `/`, and write it without `..`"
        )
    return path


def _host(text: ScalarNode) -> HostRule:
    try:
        return parse_host_rule(text.value)
    except ValueError as error:
        raise _FaultError(text, str(error)) from None
