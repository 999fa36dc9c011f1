"""YAML with positions: plain values that remember the line and column they came from."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import yaml


class ModelError(Exception):
    """A model file cannot be used; the message carries file, line and column."""

    def __init__(self, file: str, line: int, column: int, message: str) -> None:
        super().__init__(f"{file}:{line}:{column}: {message}")


@dataclass(frozen=True, slots=True)
class Text:
    """A scalar, as written."""

    value: str
    line: int
    column: int


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


def parse(text: str, file: str) -> Marked:
    """Return the document with positions. Raises `ModelError` for anything that is not plain YAML."""
    try:
        _refuse_aliases(text, file)
        # The package's own types leave these two functions' results open.
        node = cast("yaml.Node | None", yaml.compose(text, Loader=yaml.SafeLoader))  # pyright: ignore[reportUnknownMemberType]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise ModelError(file, line, column, f"not valid YAML: {error.problem}") from None
    except yaml.YAMLError:
        raise ModelError(file, 1, 1, "not valid YAML: a character that cannot stand in a text file") from None
    if node is None:
        raise ModelError(file, 1, 1, "the file is empty")
    return _marked(node, file)


def _refuse_aliases(text: str, file: str) -> None:
    # An alias can name what it stands in, or double the text at every use: a model is what one can read.
    tokens = cast("Iterator[yaml.Token]", yaml.scan(text, Loader=yaml.SafeLoader))  # pyright: ignore[reportUnknownMemberType]
    for token in tokens:
        if isinstance(token, yaml.AliasToken):
            mark = token.start_mark
            raise ModelError(file, mark.line + 1, mark.column + 1, "write it out: aliases are not read")


def _marked(node: yaml.Node, file: str) -> Marked:
    line, column = node.start_mark.line + 1, node.start_mark.column + 1
    match node:
        case yaml.ScalarNode():
            return Text(str(node.value), line, column)
        case yaml.SequenceNode():
            return Items(tuple(_marked(each, file) for each in node.value), line, column)
        case yaml.MappingNode():
            return Table(tuple(_entries(node, file)), line, column)
        case _:
            raise ModelError(file, line, column, "only text, lists and mappings can stand here")


def _entries(node: yaml.MappingNode, file: str) -> "list[tuple[Text, Marked]]":
    entries: list[tuple[Text, Marked]] = []
    seen: set[str] = set()
    for key_node, value_node in node.value:
        key = _marked(key_node, file)
        if not isinstance(key, Text):
            raise ModelError(file, key.line, key.column, "a key has to be a word")
        if key.value in seen:
            raise ModelError(file, key.line, key.column, f"`{key.value}` stands twice in the same mapping")
        seen.add(key.value)
        entries.append((key, _marked(value_node, file)))
    return entries
