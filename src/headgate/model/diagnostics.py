"""What is wrong with a file: each finding at its line and column, all of them in one error."""

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Protocol

from headgate.model.diagnostic_codes import DiagnosticCode

_NEAR = 0.7
"""How alike two words are, from 0 to 1, of which one may be the other misspelt."""


class Mark(Protocol):
    """Something that stands at a place in a file; the first line and the first column are 1."""

    @property
    def line(self) -> int:
        """The line."""
        ...

    @property
    def column(self) -> int:
        """The column."""
        ...


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A mistake at its place. `suggestion` is what may have been meant, or what to write; empty for none."""

    file: str
    line: int
    column: int
    mistake: DiagnosticCode
    message: str
    suggestion: str = ""

    def __str__(self) -> str:
        """Return file, place, severity, code, message and suggestion in one line."""
        hint = f"; {self.suggestion}" if self.suggestion else ""
        kind = f"{self.mistake.severity} {self.mistake.code}"
        return f"{self.file}:{self.line}:{self.column}: {kind}: {self.message}{hint}"


class ModelError(Exception):
    """A model file, or the vocabulary, cannot be used; the message has one line for each mistake in it."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(str(each) for each in self.diagnostics))


class DiagnosticReport:
    """Gathers the diagnostics of one file while it is read and checked."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._found: list[tuple[str, Diagnostic]] = []

    def add(self, mistake: DiagnosticCode, at: Mark, suggestion: str = "", about: str = "", /, **words: str) -> None:
        """Note a mistake; `words` fill in its message. What is noted about the same thing counts as one mistake."""
        message = mistake.message.format(**words)
        found = Diagnostic(self._file, at.line, at.column, mistake, message, suggestion)
        self._found.append((about or message, found))

    def unknown(
        self,
        mistake: DiagnosticCode,
        at: Mark,
        word: str,
        names: Collection[str],
        *,
        other_words: Mapping[str, str] = MappingProxyType({}),
        about: str = "",
    ) -> str:
        """Note a name that does not exist; return what is suggested instead, or empty.

        That is what `other_words` has for it, or else the nearest of the names.
        """
        near = other_words.get(word) or next(iter(difflib.get_close_matches(word, names, n=1, cutoff=_NEAR)), "")
        self.add(mistake, at, f"did you mean `{near}`?" if near else "", about, word=word)
        return near

    @property
    def has_errors(self) -> bool:
        """Say whether an error, and not only a warning, was noted."""
        return any(found.mistake.severity == "error" for _, found in self._found)

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return what was noted, in the order of the file, so that one slip is one diagnostic.

        At one place the first of a kind stands for all; what is said about one thing is said at its first place.
        """
        places: dict[tuple[DiagnosticCode, int, int], tuple[str, Diagnostic]] = {}
        for about, each in sorted(self._found, key=lambda noted: (noted[1].line, noted[1].column, noted[1].message)):
            places.setdefault((each.mistake, each.line, each.column), (about, each))
        said: dict[tuple[DiagnosticCode, str], list[Diagnostic]] = {}
        for about, each in places.values():
            said.setdefault((each.mistake, about), []).append(each)
        return tuple(_deduplicate(same) for same in said.values())


def _deduplicate(same: list[Diagnostic]) -> Diagnostic:
    more = len(same) - 1
    if not more:
        return same[0]
    times = "once more" if more == 1 else f"{more} times more"
    return replace(same[0], message=f"{same[0].message} (and {times} below)")
