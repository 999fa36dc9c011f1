"""YAML parser with positions: plain values, each with its line and column in the file."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast

import yaml

from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.diagnostics import DiagnosticReport


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """A scalar, as written. `lead` is the number of characters before its value: 1 for a quoted one."""

    value: str
    line: int
    column: int
    lead: int = 0

    def part(self, start: int, end: int) -> "ScalarNode":
        """Return a piece of the value with its own place, which is exact for a scalar of one line without escapes."""
        return replace(self, value=self.value[start:end], column=self.column + self.lead + start, lead=0)

    def split(self, separator: str) -> "tuple[ScalarNode, ...]":
        """Return the pieces between separators, without the spaces around them."""
        pieces: list[ScalarNode] = []
        start = 0
        for word in self.value.split(separator):
            begin = start + len(word) - len(word.lstrip())
            pieces.append(self.part(begin, begin + len(word.strip())))
            start += len(word) + len(separator)
        return tuple(pieces)


@dataclass(frozen=True, slots=True)
class ListNode:
    """A list."""

    values: "tuple[Node, ...]"
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class MapNode:
    """A mapping in the order of the file; each key occurs once."""

    entries: "tuple[tuple[ScalarNode, Node], ...]"
    line: int
    column: int


Node = ScalarNode | ListNode | MapNode

_LONGEST_WORD = 5_000
"""The most characters of a key or value. A condition with many values, and a key for many types, are long words."""

START = ScalarNode("", 1, 1)
"""The first position of a file."""


def find(document: Node, *path: str | int) -> Node:
    """Return the node at a path of keys, list indexes and words in lists, or the last node of the path that exists.

    If the path ends with a key, that is the key itself; of a key with several names, the requested name.
    """
    at = document
    for index, step in enumerate(path):
        if isinstance(at, MapNode) and isinstance(step, str):
            named = [(name, value) for key, value in at.entries for name in key.split(",") if name.value == step]
            if not named:
                return at
            at = named[0][0] if index == len(path) - 1 else named[0][1]
        elif isinstance(at, ListNode):
            values = at.values[step : step + 1] if isinstance(step, int) else _words(at, step)
            if not values:
                return at
            at = values[0]
    return at


def _words(items: ListNode, word: str) -> list[Node]:
    return [each for each in items.values if isinstance(each, ScalarNode) and each.value == word]


def parse_yaml(text: str, report: DiagnosticReport) -> Node | None:
    """Return the document with positions; None, with the reason in the report, if it is not plain YAML."""
    try:
        # The type stubs of `yaml` do not state the result of this function.
        events = cast("Iterator[yaml.Event]", yaml.parse(text, Loader=yaml.SafeLoader))  # pyright: ignore[reportUnknownMemberType]
        documents = [_value(events, event, report) for event in events if isinstance(event, yaml.NodeEvent)]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        report.add(DiagnosticCode.NOT_YAML, _at(mark) if mark else START, problem=_problem(error))
        return None
    except yaml.YAMLError:
        report.add(DiagnosticCode.NOT_YAML, START, problem="the file contains a control character; remove it")
        return None
    except RecursionError:
        report.add(DiagnosticCode.NOT_YAML, START, problem="lists and mappings are nested too deeply")
        return None
    if not documents or (isinstance(documents[0], ScalarNode) and not documents[0].value):
        report.add(DiagnosticCode.EMPTY_FILE, START)
    for each in documents:
        _check_words(each, report)
    for second in documents[1:]:
        report.add(DiagnosticCode.NOT_YAML, second, problem="a second document begins; the file must have only one")
    return documents[0] if documents else None


def _check_words(node: Node, report: DiagnosticReport) -> None:
    """Report long words, and those with unprintable characters: messages, logs and terminals show the words of a model."""
    if isinstance(node, MapNode):
        for key, value in node.entries:
            _check_words(key, report)
            _check_words(value, report)
    elif isinstance(node, ListNode):
        for each in node.values:
            _check_words(each, report)
    elif len(node.value) > _LONGEST_WORD:
        report.add(
            DiagnosticCode.NOT_YAML, node, problem=f"a word has more than {_LONGEST_WORD} characters; shorten it"
        )
    elif not node.value.isprintable():
        report.add(DiagnosticCode.NOT_YAML, node, problem="a word contains a control or invisible character; remove it")


def _at(mark: yaml.Mark) -> ScalarNode:
    return ScalarNode("", mark.line + 1, mark.column + 1)


def _problem(error: yaml.MarkedYAMLError) -> str:
    problem, context = error.problem or "the file cannot be parsed", error.context or ""
    return f"{problem} {context} that begins on line {error.context_mark.line + 1}" if error.context_mark else problem


def _value(events: Iterator[yaml.Event], event: yaml.Event, report: DiagnosticReport) -> Node:
    """Return the value that begins with the event; consume its further events."""
    at = _at(event.start_mark)
    # An alias can refer to a value that contains it, or double the text at every use; a tag can change the type of a word.
    if isinstance(event, yaml.AliasEvent):
        report.add(DiagnosticCode.NOT_READ, at, what="aliases")
    elif isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag is not None:
        report.add(DiagnosticCode.NOT_READ, at, what="tags")
    if isinstance(event, yaml.MappingStartEvent):
        return MapNode(tuple(_entries(events, at, report)), at.line, at.column)
    if isinstance(event, yaml.SequenceStartEvent):
        return ListNode(tuple(_value(events, each, report) for each in _read_until_end(events)), at.line, at.column)
    if isinstance(event, yaml.ScalarEvent):
        return ScalarNode(str(event.value), at.line, at.column, 1 if event.style in ("'", '"') else 0)
    return at


def _read_until_end(events: Iterator[yaml.Event]) -> Iterator[yaml.Event]:
    for event in events:
        if isinstance(event, yaml.CollectionEndEvent):
            return
        yield event


def _entries(
    events: Iterator[yaml.Event], start: ScalarNode, report: DiagnosticReport
) -> "list[tuple[ScalarNode, Node]]":
    entries: dict[str, tuple[ScalarNode, Node]] = {}
    for event in _read_until_end(events):
        key, value = _value(events, event, report), _value(events, next(events), report)
        if not isinstance(key, ScalarNode):
            report.add(DiagnosticCode.KEY_NO_WORD, key)
        elif key.value in entries:
            # Several in one mapping are one slip: the line between two mappings is missing.
            report.add(DiagnosticCode.KEY_TWICE, key, "", f"{start.line}:{start.column}", key=key.value)
        else:
            entries[key.value] = (key, value)
    return list(entries.values())
