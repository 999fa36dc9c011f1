"""Reading marked YAML against what is expected: each mistake is an error at its own line and column."""

import difflib
from collections.abc import Collection

from headgate.model.marked import Items, Marked, ModelError, Table, Text


class Reader:
    """Takes values out of one marked file, or says what is wrong with them."""

    def __init__(self, file: str) -> None:
        self._file = file

    def fail(self, at: Marked, message: str) -> ModelError:
        """Return the error for a value."""
        return ModelError(self._file, at.line, at.column, message)

    def table(self, value: Marked, known: Collection[str] | None = None) -> dict[str, Marked]:
        """Return a mapping's entries; with `known`, any other key is an error."""
        if not isinstance(value, Table):
            raise self.fail(value, "expected a mapping")
        if known is not None:
            for key, _ in value.entries:
                self.known(key, known, "key")
        return {key.value: entry for key, entry in value.entries}

    def section(self, table: dict[str, Marked], key: str, owner: Marked) -> Marked:
        """Return an entry that has to be there."""
        if key not in table:
            raise self.fail(owner, f"`{key}` is missing here")
        return table[key]

    def items(self, value: Marked) -> tuple[Marked, ...]:
        """Return a list's values."""
        if not isinstance(value, Items):
            raise self.fail(value, "expected a list")
        return value.values

    def text(self, value: Marked) -> str:
        """Return a scalar."""
        if not isinstance(value, Text):
            raise self.fail(value, "expected a word")
        return value.value

    def known(self, value: Marked, names: Collection[str], what: str) -> str:
        """Return a scalar that has to be one of the names; suggests the nearest one."""
        word = self.text(value)
        if word not in names:
            near = difflib.get_close_matches(word, names, n=1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise self.fail(value, f"unknown {what} `{word}`{hint}")
        return word

    def names(self, value: Marked, names: Collection[str], what: str) -> tuple[str, ...]:
        """Return a list of known names."""
        return tuple(self.known(each, names, what) for each in self.items(value))

    def flag(self, value: Marked) -> bool:
        """Return `true` or `false`."""
        return self.known(value, ("true", "false"), "flag") == "true"

    def number(self, value: Marked) -> int:
        """Return a whole number."""
        word = self.text(value)
        if not word.isdecimal():
            raise self.fail(value, f"expected a whole number, not `{word}`")
        return int(word)
