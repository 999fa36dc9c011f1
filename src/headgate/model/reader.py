"""Typed access to a parsed YAML file: an unexpected value is added to the report and treated as missing."""

import re
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType

from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.diagnostics import DiagnosticReport
from headgate.model.yaml_parser import ListNode, MapNode, Node, ScalarNode

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}")
_ROLE = re.compile(rf"{_NAME.pattern}(\.\w+)?", re.ASCII)
"""A role may have a name like that of an action, `table.select`."""
_SHAPES = {ScalarNode: "a word", ListNode: "a list", MapNode: "a mapping"}

Value = Node | None
"""A value, or None if it is missing; `fields` has already checked whether it may be."""


def _place(value: Value) -> str:
    return f"{value.line}:{value.column}" if value else ""


class Reader:
    """Reads values of one file. A mistake is added to the report, and its value is then treated as missing."""

    def __init__(self, report: DiagnosticReport) -> None:
        self.report = report

    def fields(self, value: Value, required: Collection[str], optional: Collection[str] = ()) -> Mapping[str, Node]:
        """Return the entries of a mapping; report keys that are unknown, and required ones that are missing."""
        known = (*required, *optional)
        entries = self.entries(value, ", ".join(f"{key}: ..." for key in required or optional))
        fields = {key.value: entry for key, entry in entries if key.value in known}
        strange = [(key, entry) for key, entry in entries if key.value not in known]
        for key, entry in strange:
            meant = self.report.unknown(DiagnosticCode.UNKNOWN_KEY, key, key.value, known, about=_place(value))
            fields.setdefault(meant, entry)  # read as the key probably meant, so that one slip is one diagnostic
        if "" in fields:
            return {}  # a key similar to no known one: the mapping is probably meant for another place
        for key in required:
            if isinstance(value, MapNode) and not strange and key not in fields:
                self.report.add(DiagnosticCode.MISSING_KEY, value, key=key)
        return fields

    def entries(self, value: Value, example: str = "") -> tuple[tuple[ScalarNode, Node], ...]:
        """Return a mapping's keys and values; `example` is the content of one, for the message if the value is none."""
        if isinstance(value, MapNode):
            return value.entries
        return self._type_error(value, "a mapping", f"write a mapping, such as `{{{example}}}`" if example else "")

    def items(self, value: Value) -> tuple[Node, ...]:
        """Return a list's values."""
        if isinstance(value, ListNode):
            return value.values
        word = value.value if isinstance(value, ScalarNode) else ""
        return self._type_error(value, "a list", f"write `[{word}]`" if word else "")

    def words(self, value: Value) -> tuple[ScalarNode, ...]:
        """Return a list of words without duplicates, which are reported."""
        return self._deduplicate([each for item in self.items(value) for each in self.word(item)])

    def word_or_words(self, value: Value) -> tuple[ScalarNode, ...]:
        """Return a list of words; a single word may be written without a list around it."""
        return self.word(value) if isinstance(value, ScalarNode) else self.words(value)

    def non_empty_list(self, fields: Mapping[str, Node], key: str) -> tuple[ScalarNode, ...]:
        """Return the list of words under a key; report an empty one, which would have no meaning."""
        value = fields.get(key)
        if isinstance(value, ListNode) and not value.values:
            self.report.add(DiagnosticCode.EMPTY_LIST, value, key=key)
        return self.words(value)

    def name_list(self, key: ScalarNode) -> tuple[ScalarNode, ...]:
        """Return the names in a key that are separated by commas."""
        return self._deduplicate([name for name in key.split(",") if self._is_word(name)])

    def text(self, value: Value) -> str:
        """Return a word; empty if there is none."""
        return "".join(word.value for word in self.word(value))

    def name(self, value: Value, *, role: bool = False) -> str:
        """Return a new name. Only roles may have capitals, and a dot as in the name of an action."""
        for word in self.word(value):
            if not (_ROLE if role else _NAME).fullmatch(word.value):
                self.report.add(DiagnosticCode.BAD_NAME, word, word=word.value)
            elif not role and word.value != word.value.lower():
                self.report.add(DiagnosticCode.NOT_LOWER, word, f"write `{word.value.lower()}`", word=word.value)
        return self.text(value) if isinstance(value, ScalarNode) else ""

    def known_names(
        self,
        words: Collection[ScalarNode],
        names: Collection[str],
        unknown: DiagnosticCode,
        other_words: Mapping[str, str] = MappingProxyType({}),
        otherwise: Callable[[str], str] = lambda _: "",
    ) -> tuple[str, ...]:
        """Return the words that are among the names. `other_words` maps other words that a user may write to names.

        `otherwise` returns what to write instead of a word that is similar to none of the names.
        """
        for word in words:
            if word.value not in names:
                text = otherwise(word.value)
                self.report.unknown(unknown, word, word.value, names, other_words=other_words, otherwise=text)
        return tuple(word.value for word in words if word.value in names)

    def known_name(self, value: Value, names: Collection[str], unknown: DiagnosticCode) -> str:
        """Return a word that is among the names; empty for any other."""
        return "".join(self.known_names(self.word(value), names, unknown))

    def flag(self, value: Value) -> bool:
        """Return whether the value is `true`; false if it is missing."""
        word = self.text(value)
        if value is not None and word and word not in ("true", "false"):
            self.report.add(DiagnosticCode.NO_FLAG, value, word=word)
        return word == "true"

    def number(self, value: Value) -> int:
        """Return a whole number of 1 or more; 0 if it is missing or invalid."""
        word = self.text(value)
        if value is not None and word and not re.fullmatch("[1-9][0-9]{0,8}", word):
            self.report.add(DiagnosticCode.NO_NUMBER, value, word=word)
            return 0
        return int(word or 0)

    def word(self, value: Value) -> tuple[ScalarNode, ...]:
        """Return a word as a tuple of one; an empty tuple if there is none."""
        if not isinstance(value, ScalarNode):
            single = value.values[0] if isinstance(value, ListNode) and len(value.values) == 1 else None
            written = f"write `{single.value}`" if isinstance(single, ScalarNode) else "write one word"
            return self._type_error(value, "a word", written)
        return (value,) if self._is_word(value) else ()

    def _is_word(self, value: ScalarNode) -> bool:
        if not value.value:
            self.report.add(DiagnosticCode.SHAPE, value, expected="a word", found="nothing")
        return bool(value.value)

    def _deduplicate(self, words: Collection[ScalarNode]) -> tuple[ScalarNode, ...]:
        first: dict[str, ScalarNode] = {}
        for word in words:
            if word.value in first:
                self.report.add(DiagnosticCode.WORD_TWICE, word, word=word.value)
            first.setdefault(word.value, word)
        return tuple(first.values())

    def _type_error(self, value: Value, expected: str, suggestion: str = "") -> tuple[()]:
        if value is not None:
            empty = isinstance(value, ScalarNode) and not value.value
            found = "nothing" if empty else _SHAPES[type(value)]
            self.report.add(DiagnosticCode.SHAPE, value, suggestion, expected=expected, found=found)
        return ()
