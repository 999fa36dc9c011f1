"""Diagnostics of a file: each mistake with its line and column, all of them in one error."""

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Protocol

from typing_extensions import override

from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.language_versions import NEWEST, severity_of

_NEAR = 0.7
"""The similarity, from 0 to 1, from which a word counts as a misspelling of another."""

_MOST_SHOWN = 100
"""The most mistakes that an error lists."""

_LISTED = 12
"""The largest number of names that a suggestion lists."""


class Mark(Protocol):
    """A place in a file; the first line and the first column are 1."""

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
    """A mistake at its place. `suggestion` is the word probably meant, or what to write; empty if there is none."""

    file: str
    line: int
    column: int
    mistake: DiagnosticCode
    message: str
    suggestion: str = ""
    severity: str = "error"

    @override
    def __str__(self) -> str:
        """Return file, place, severity, code, message and suggestion in one line."""
        hint = f"; {self.suggestion}" if self.suggestion else ""
        kind = f"{self.severity} {self.mistake.code}"
        return f"{self.file}:{self.line}:{self.column}: {kind}: {self.message}{hint}"


class ModelError(Exception):
    """A model file, or the vocabulary, cannot be used; the message has one line for each mistake."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        shown = [str(each) for each in self.diagnostics[:_MOST_SHOWN]]
        more = len(self.diagnostics) - len(shown)
        super().__init__("\n".join((*shown, f"and {more} more mistakes") if more else shown))


class DiagnosticReport:
    """Collects the diagnostics of one file while it is parsed and checked."""

    def __init__(self, file: str, language: int = NEWEST) -> None:
        """`language` is the version of the model language in which the file is written."""
        self._file = file
        self.language = language
        self._found: list[tuple[str, Diagnostic]] = []

    def add(self, mistake: DiagnosticCode, at: Mark, suggestion: str = "", about: str = "", /, **words: str) -> None:
        """Add a mistake; `words` are the values of its message.

        Mistakes of one kind with the same `about` (default: the message) are reported as one diagnostic.
        """
        message = mistake.message.format(**words)
        severity = severity_of(mistake, self.language)
        found = Diagnostic(self._file, at.line, at.column, mistake, message, suggestion, severity)
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
        otherwise: str = "",
        **words: str,
    ) -> str:
        """Add an unknown name; return the name suggested instead, or an empty string.

        The suggestion is the entry of `other_words` for the word, or else the most similar of the names; if there is none,
        the text `otherwise`, or else the list of the names. `words` are further values of the message.
        """
        # A search for the similar name takes time, and an error lists no more mistakes than this.
        is_listed = len(self._found) < _MOST_SHOWN
        near = other_words.get(word) or (most_similar(word, names) if is_listed else "")
        suggestion = f"did you mean `{near}`?" if near else otherwise or choose_from(names)
        self.add(mistake, at, suggestion, about, word=word, **words)
        return near

    @property
    def has_errors(self) -> bool:
        """Whether an error was added, and not only warnings."""
        return any(found.severity == "error" for _, found in self._found)

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return the diagnostics in the order of the file, deduplicated so that one slip is one diagnostic.

        At one place, only the first of a kind is kept. Those about the same subject are merged at their first place.
        """
        places: dict[tuple[DiagnosticCode, int, int], tuple[str, Diagnostic]] = {}
        for about, each in sorted(self._found, key=lambda noted: (noted[1].line, noted[1].column, noted[1].message)):
            places.setdefault((each.mistake, each.line, each.column), (about, each))
        said: dict[tuple[DiagnosticCode, str], list[Diagnostic]] = {}
        for about, each in places.values():
            said.setdefault((each.mistake, about), []).append(each)
        return tuple(_deduplicate(same) for same in said.values())


def most_similar(word: str, names: Collection[str], least: float = _NEAR) -> str:
    """Return the name of which the word is probably a misspelling: similar by at least `least`; empty if there is none."""
    return next(iter(difflib.get_close_matches(word, names, n=1, cutoff=least)), "")


def choose_from(names: Collection[str]) -> str:
    """Return the names as a suggestion, at most `_LISTED` of them; empty if there are none."""
    more = len(names) - _LISTED
    listed = ", ".join(f"`{name}`" for name in list(names)[:_LISTED])
    return f"choose from {listed}{f' and {more} more' if more > 0 else ''}" if names else ""


def _deduplicate(same: list[Diagnostic]) -> Diagnostic:
    more = len(same) - 1
    if not more:
        return same[0]
    times = "1 more occurrence" if more == 1 else f"{more} more occurrences"
    return replace(same[0], message=f"{same[0].message} ({times} below)")
