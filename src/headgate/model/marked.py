"""YAML with positions: plain values that remember the line and column they came from."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast

import yaml

from headgate.model.diagnostics import Report
from headgate.model.mistakes import Mistake


@dataclass(frozen=True, slots=True)
class Text:
    """A scalar, as written. `lead` counts the characters before its value: 1 for a quoted one."""

    value: str
    line: int
    column: int
    lead: int = 0

    def part(self, start: int, end: int) -> "Text":
        """Return a piece of the value, at its own place where that can be told: a scalar of one line without escapes."""
        return replace(self, value=self.value[start:end], column=self.column + self.lead + start, lead=0)

    def split(self, separator: str) -> "tuple[Text, ...]":
        """Return the pieces between separators, without the blanks around them."""
        pieces: list[Text] = []
        start = 0
        for word in self.value.split(separator):
            begin = start + len(word) - len(word.lstrip())
            pieces.append(self.part(begin, begin + len(word.strip())))
            start += len(word) + len(separator)
        return tuple(pieces)


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    values: "tuple[Marked, ...]"
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Table:
    """A mapping in the order of the file; a key stands once."""

    entries: "tuple[tuple[Text, Marked], ...]"
    line: int
    column: int


Marked = Text | Items | Table

START = Text("", 1, 1)
"""Where a file begins."""


def find(document: Marked, *path: str | int) -> Marked:
    """Return what stands at a path of keys, places in lists and words in lists, or the last of it that is there.

    For a key at the end of the path that is the key itself; of a key with several names, the one that is asked for.
    """
    at = document
    for index, step in enumerate(path):
        if isinstance(at, Table) and isinstance(step, str):
            named = [(name, value) for key, value in at.entries for name in key.split(",") if name.value == step]
            if not named:
                return at
            at = named[0][0] if index == len(path) - 1 else named[0][1]
        elif isinstance(at, Items):
            values = at.values[step : step + 1] if isinstance(step, int) else _words(at, step)
            if not values:
                return at
            at = values[0]
    return at


def _words(items: Items, word: str) -> list[Marked]:
    return [each for each in items.values if isinstance(each, Text) and each.value == word]


def parse(text: str, report: Report) -> Marked | None:
    """Return the document with positions; None, and why in the report, if it is no plain YAML."""
    try:
        _only_plain(text, report)
        # The package's own types leave these two functions' results open.
        node = cast("yaml.Node | None", yaml.compose(text, Loader=yaml.SafeLoader))  # pyright: ignore[reportUnknownMemberType]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        at = Text("", mark.line + 1, mark.column + 1) if mark else START
        report.add(Mistake.NOT_YAML, at, problem=_problem(error))
        return None
    except RecursionError:
        report.add(Mistake.NOT_YAML, START, problem="it is nested too deeply")
        return None
    except yaml.YAMLError:
        report.add(Mistake.NOT_YAML, START, problem="a character that cannot stand in a text file")
        return None
    if node is None:
        report.add(Mistake.EMPTY_FILE, START)
        return None
    return _marked(node, report)


def _problem(error: yaml.MarkedYAMLError) -> str:
    problem = error.problem or "it cannot be read"
    return f"{error.context}, {problem}" if problem.startswith("but ") else problem


def _only_plain(text: str, report: Report) -> None:
    # An alias can name what it stands in, or double the text at every use; a tag can make a word something else.
    tokens = cast("Iterator[yaml.Token]", yaml.scan(text, Loader=yaml.SafeLoader))  # pyright: ignore[reportUnknownMemberType]
    for token in tokens:
        if isinstance(token, yaml.AliasToken | yaml.TagToken):
            at = Text("", token.start_mark.line + 1, token.start_mark.column + 1)
            report.add(Mistake.NOT_READ, at, what="aliases" if isinstance(token, yaml.AliasToken) else "tags")


def _marked(node: yaml.Node, report: Report) -> Marked:
    line, column = node.start_mark.line + 1, node.start_mark.column + 1
    if isinstance(node, yaml.MappingNode):
        return Table(tuple(_entries(node, report)), line, column)
    if isinstance(node, yaml.SequenceNode):
        return Items(tuple(_marked(each, report) for each in node.value), line, column)
    quoted = isinstance(node, yaml.ScalarNode) and node.style in ("'", '"')
    return Text(str(node.value), line, column, 1 if quoted else 0)


def _entries(node: yaml.MappingNode, report: Report) -> "list[tuple[Text, Marked]]":
    entries: dict[str, tuple[Text, Marked]] = {}
    for key_node, value_node in node.value:
        key, value = _marked(key_node, report), _marked(value_node, report)
        if not isinstance(key, Text):
            report.add(Mistake.KEY_NO_WORD, key)
        elif key.value in entries:
            report.add(Mistake.KEY_TWICE, key, key=key.value)
        else:
            entries[key.value] = (key, value)
    return list(entries.values())
