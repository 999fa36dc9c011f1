"""The cases of a corpus file, in the form of FORMAT.md."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

FORBIDDEN = "forbidden_always"
SPOOFING = "identity spoofing"
_KINDS = ("sql", "dataframe")
_VERBS = ("read", "write", "describe", "alter", "drop", "create", FORBIDDEN)

Need = tuple[str, str]
"""A needed privilege: a verb, and the full name of its object."""


class CorpusError(Exception):
    """The file is not a corpus; the message names the line."""


@dataclass(frozen=True, slots=True)
class Case:
    """One line of a corpus."""

    id: str
    kind: str
    statement: str
    needs: tuple[Need, ...]

    @property
    def is_forbidden(self) -> bool:
        """Whether no user may do it, with any privileges."""
        return any(verb == FORBIDDEN for verb, _ in self.needs)

    @property
    def is_spoofing(self) -> bool:
        """Whether the case tries to impersonate another user."""
        return (FORBIDDEN, SPOOFING) in self.needs


def load(files: Sequence[Path], only: Iterable[str] = ()) -> list[Case]:
    """Return the cases of all files in order, or those named in `only`. Raises `CorpusError`, `OSError`."""
    cases = [case for file in files for case in _read(file)]
    ids = [case.id for case in cases]
    if twice := next((id for id in ids if ids.count(id) > 1), None):
        raise CorpusError(f"the corpus has the case `{twice}` twice; remove or rename one of them")
    wanted = set(only)
    if unknown := sorted(wanted.difference(ids)):
        raise CorpusError(f"the corpus has no case `{unknown[0]}`")
    return [case for case in cases if not wanted or case.id in wanted]


def _read(file: Path) -> list[Case]:
    lines = file.read_text(encoding="utf-8").splitlines()
    return [_case(line, f"{file}:{number}") for number, line in enumerate(lines, start=1) if line.strip()]


def _case(line: str, place: str) -> Case:
    try:
        fields = json.loads(line)
        needs = tuple((str(verb), str(place)) for verb, place in fields["needs"])
        case = Case(fields["id"], fields["kind"], fields["statement"], needs)
    except (ValueError, KeyError, TypeError) as error:
        raise CorpusError(f"{place} is not a case: {error}") from error
    if case.kind not in _KINDS:
        raise CorpusError(f"{place} has the kind `{case.kind}`; it must be `sql` or `dataframe`")
    if unknown := next((verb for verb, _ in case.needs if verb not in _VERBS), None):
        raise CorpusError(f"{place} needs to `{unknown}`; it must be one of {', '.join(_VERBS)}")
    return case
