"""Formatter of model files: one layout of indents, spaces and line breaks.

Words, order, comments and single blank lines are unchanged. A list or mapping in brackets is written on one line if it
fits, else with one line for each part. A comment at the end of a line keeps its column if there is room.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, cast

import yaml

_WIDTH = 120
_STEP = "  "
_ITEM = "- "
_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")


def format_model(text: str) -> str:
    """Return the same document in the standard layout. It must be plain YAML, as checked by `yaml_parser.parse_yaml`."""
    # The type stubs of `yaml` do not state the result of this function.
    events = cast("Iterator[yaml.Event]", yaml.parse(text, Loader=yaml.SafeLoader))  # pyright: ignore[reportUnknownMemberType]
    source = _Source(text)
    root = next(source.node(events, event) for event in events if isinstance(event, yaml.NodeEvent))
    writer = _Writer(source.comments(), source.blank())
    writer.value("", 0, root, "", len(text) + 1)
    writer.comments_until(len(text) + 1, 0, "")
    return "\n".join(writer.lines).strip("\n") + "\n"


@dataclass(frozen=True, slots=True)
class _Node:
    """A value in the source: a word as it will be written, or a list or mapping with its parts.

    The parts of a mapping are keys and values in turn. Lines and columns begin with 0.
    """

    kind: Literal["word", "list", "mapping"]
    line: int
    column: int
    last_line: int
    word: str = ""
    parts: "tuple[_Node, ...]" = ()
    block: bool = False

    def pairs(self) -> "list[tuple[_Node, _Node]]":
        """Return the keys and values of a mapping."""
        return list(zip(self.parts[::2], self.parts[1::2], strict=True))

    def in_line(self) -> str:
        """Return the value written on one line."""
        match self.kind:
            case "word":
                return self.word
            case "list":
                return f"[{', '.join(part.in_line() for part in self.parts)}]"
            case "mapping":
                return f"{{{', '.join(f'{key.in_line()}: {value.in_line()}' for key, value in self.pairs())}}}"


@dataclass(frozen=True, slots=True)
class _Comment:
    line: int
    column: int
    text: str


@dataclass(frozen=True, slots=True)
class _Source:
    """The text, and the positions of its words: a `#` in a word does not begin a comment."""

    text: str
    words: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def node(self, events: Iterator[yaml.Event], event: yaml.Event) -> _Node:
        """Return the value that begins with the event; consume its further events."""
        line, column = event.start_mark.line, event.start_mark.column
        if not isinstance(event, yaml.CollectionStartEvent):
            return _Node("word", line, column, event.end_mark.line, self._word(event))
        kind = "mapping" if isinstance(event, yaml.MappingStartEvent) else "list"
        parts: list[_Node] = []
        last = event.end_mark.line
        for each in events:
            if isinstance(each, yaml.CollectionEndEvent):
                last = each.end_mark.line
                break
            parts.append(self.node(events, each))
        return _Node(kind, line, column, last, "", tuple(parts), block=not event.flow_style)

    def _word(self, event: yaml.Event) -> str:
        start, end = event.start_mark.index, event.end_mark.index
        self.words.append((start, end))
        raw = self.text[start:end]
        if isinstance(event, yaml.ScalarEvent) and _BREAK.search(raw):
            return json.dumps(str(event.value), ensure_ascii=False)  # a word of several lines is written on one
        return raw

    def comments(self) -> list[_Comment]:
        """Return the comments, in the order of the text."""
        masked = list(self.text)
        for start, end in self.words:
            masked[start:end] = ["\n" if _BREAK.fullmatch(each) else "x" for each in masked[start:end]]
        lines, shown = _BREAK.split("".join(masked)), _BREAK.split(self.text)
        found = ((index, _COMMENT.search(line)) for index, line in enumerate(lines))
        return [_Comment(at, each.start(), shown[at][each.start() :].rstrip()) for at, each in found if each]

    def blank(self) -> frozenset[int]:
        """Return the indexes of blank lines."""
        return frozenset(index for index, line in enumerate(_BREAK.split(self.text)) if not line.strip())


@dataclass(slots=True)
class _Writer:
    """The lines written so far, and the comments of the source that are not yet written."""

    comments: list[_Comment]
    blank: frozenset[int]
    lines: list[str] = field(default_factory=list[str])

    def value(self, head: str, line: int, node: _Node, indent: str, until: int) -> None:
        """Write a value after its `head`, from a line of the source; the next value begins on line `until`."""
        whole = f"{indent}{head}{node.in_line()}".rstrip()
        if not node.parts or (len(whole) <= _WIDTH and not node.block):
            self._line(whole, line, node.last_line, indent)
            return
        if not node.block:
            self.comments_until(node.last_line + 1, 0, indent)
        if head == _ITEM:
            first = len(self.lines)
            self._block(node, indent + _STEP, until)
            self.lines[first] = f"{indent}{_ITEM}{self.lines[first].strip()}"
        elif head:
            self._line(f"{indent}{head}".rstrip(), line, line, indent)
            self._block(node, indent + _STEP, until)
        else:
            self._block(node, indent, until)

    def comments_until(self, line: int, column: int, indent: str) -> None:
        """Write the next comments before a line of the source that begin at a column or to the right of it."""
        while self.comments and self.comments[0].line < line and self.comments[0].column >= column:
            comment = self.comments.pop(0)
            self._space(comment.line)
            self.lines.append(f"{indent}{comment.text}")

    def _block(self, node: _Node, indent: str, until: int) -> None:
        values = node.parts[1::2] if node.kind == "mapping" else node.parts
        starts = node.parts[::2] if node.kind == "mapping" else node.parts
        ends = [*(each.line for each in starts[1:]), until]
        for start, value, end in zip(starts, values, ends, strict=True):
            self.comments_until(start.line, 0, indent)
            self._space(start.line)
            self.value(f"{start.word}: " if node.kind == "mapping" else _ITEM, start.line, value, indent, end)
        if node.block:
            self.comments_until(until, node.column, indent)

    def _line(self, text: str, first: int, last: int, indent: str) -> None:
        """Write a line for some lines of the source; a single comment on those remains at its end."""
        beside = [comment for comment in self.comments if first <= comment.line <= last]
        if len(beside) == 1:
            self.comments.remove(beside[0])
            text = f"{text:{max(len(text) + 2, beside[0].column)}}{beside[0].text}"
        self.comments_until(last + 1, 0, indent)
        self.lines.append(text)

    def _space(self, line: int) -> None:
        """Write one blank line if the source has any above a line: once, also if the line is split into several."""
        if line - 1 in self.blank and self.lines and self.lines[-1]:
            self.lines.append("")
        self.blank -= {line - 1}
