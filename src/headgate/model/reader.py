"""Taking values out of a marked file: what is not as expected is noted in the report, and read as nothing."""

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType

from headgate.model.diagnostic_codes import Mistake
from headgate.model.diagnostics import Report
from headgate.model.yaml_positions import Items, Marked, Table, Text

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_ROLE = re.compile(rf"{_NAME.pattern}(\.\w+)?", re.ASCII)
"""A role may be called like an action."""
_SHAPES = {Text: "a word", Items: "a list", Table: "a mapping"}

Value = Marked | None
"""A value, or None for one that is not there; whether it may be missing was settled before."""


def _place(value: Value) -> str:
    return f"{value.line}:{value.column}" if value else ""


class Reader:
    """Takes values out of one file. What is wrong is noted; the value is then as if nothing stood there."""

    def __init__(self, report: Report) -> None:
        self.report = report

    def fields(self, value: Value, required: Collection[str], optional: Collection[str] = ()) -> Mapping[str, Marked]:
        """Return the entries of a mapping with these keys and no others."""
        known = (*required, *optional)
        fields = {key.value: entry for key, entry in self.entries(value) if key.value in known}
        strange = [(key, entry) for key, entry in self.entries(value) if key.value not in known]
        for key, entry in strange:
            meant = self.report.unknown(Mistake.UNKNOWN_KEY, key, key.value, known, about=_place(value))
            fields.setdefault(meant, entry)  # read as what it was to be, so that one slip is one diagnostic
        if "" in fields:
            return {}  # with a key that is like no other, it is something else that stands here
        for key in required:
            if isinstance(value, Table) and not strange and key not in fields:
                self.report.add(Mistake.MISSING_KEY, value, key=key)
        return fields

    def entries(self, value: Value) -> tuple[tuple[Text, Marked], ...]:
        """Return a mapping's keys and values."""
        return value.entries if isinstance(value, Table) else self._not(value, "a mapping")

    def items(self, value: Value) -> tuple[Marked, ...]:
        """Return a list's values."""
        return value.values if isinstance(value, Items) else self._not(value, "a list")

    def words(self, value: Value) -> tuple[Text, ...]:
        """Return a list of words, each standing there once."""
        return self._once([each for item in self.items(value) for each in self.word(item)])

    def word_or_words(self, value: Value) -> tuple[Text, ...]:
        """Return a list of words, of which a single one may stand there without a list around it."""
        return self.word(value) if isinstance(value, Text) else self.words(value)

    def some(self, fields: Mapping[str, Marked], key: str) -> tuple[Text, ...]:
        """Return the list of words under a key, where an empty one would say nothing."""
        value = fields.get(key)
        if isinstance(value, Items) and not value.values:
            self.report.add(Mistake.EMPTY_LIST, value, key=key)
        return self.words(value)

    def joined(self, key: Text) -> tuple[Text, ...]:
        """Return the names that stand in a key, with commas between them."""
        return self._once([name for name in key.split(",") if self._is_word(name)])

    def text(self, value: Value) -> str:
        """Return a word; empty for none."""
        return "".join(word.value for word in self.word(value))

    def name(self, value: Value, *, role: bool = False) -> str:
        """Return a new name. Only roles may have capitals, and a dot as actions have."""
        for word in self.word(value):
            if not (_ROLE if role else _NAME).fullmatch(word.value):
                self.report.add(Mistake.BAD_NAME, word, word=word.value)
            elif not role and word.value != word.value.lower():
                self.report.add(Mistake.NOT_LOWER, word, f"write `{word.value.lower()}`", word=word.value)
        return self.text(value) if isinstance(value, Text) else ""

    def known(
        self,
        words: Collection[Text],
        names: Collection[str],
        unknown: Mistake,
        other_words: Mapping[str, str] = MappingProxyType({}),
    ) -> tuple[str, ...]:
        """Return those of the words that are among the names. `other_words` are what else people may call them."""
        for word in words:
            if word.value not in names:
                self.report.unknown(unknown, word, word.value, names, other_words=other_words)
        return tuple(word.value for word in words if word.value in names)

    def one(self, value: Value, names: Collection[str], unknown: Mistake) -> str:
        """Return a word that is among the names; empty for none."""
        return "".join(self.known(self.word(value), names, unknown))

    def flag(self, value: Value) -> bool:
        """Return `true` or `false`; false for none."""
        word = self.text(value)
        if value is not None and word and word not in ("true", "false"):
            self.report.add(Mistake.NO_FLAG, value, word=word)
        return word == "true"

    def number(self, value: Value) -> int:
        """Return a whole number, 1 or more."""
        word = self.text(value)
        if value is not None and word and not re.fullmatch("[1-9][0-9]{0,8}", word):
            self.report.add(Mistake.NO_NUMBER, value, word=word)
            return 0
        return int(word or 0)

    def word(self, value: Value) -> tuple[Text, ...]:
        """Return a word as a tuple of one; none if there is none."""
        if not isinstance(value, Text):
            return self._not(value, "a word")
        return (value,) if self._is_word(value) else ()

    def _is_word(self, value: Text) -> bool:
        if not value.value:
            self.report.add(Mistake.SHAPE, value, expected="a word", found="nothing")
        return bool(value.value)

    def _once(self, words: Collection[Text]) -> tuple[Text, ...]:
        first: dict[str, Text] = {}
        for word in words:
            if word.value in first:
                self.report.add(Mistake.WORD_TWICE, word, word=word.value)
            first.setdefault(word.value, word)
        return tuple(first.values())

    def _not(self, value: Value, expected: str) -> tuple[()]:
        if value is not None:
            empty = isinstance(value, Text) and not value.value
            self.report.add(Mistake.SHAPE, value, expected=expected, found="nothing" if empty else _SHAPES[type(value)])
        return ()
