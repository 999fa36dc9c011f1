"""How a command was sent: through which door and why, and what else has to hold or be kept when it is written."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from headgate.control.command import CommandError
from headgate.control.ports import HERE, DocumentPut, Origin
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot


class ChangedError(CommandError):
    """The resource is not at the version that the command was meant for."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The version of a resource that a command was meant for."""

    resource: ResourceId
    version: str


def _nothing(_: int) -> tuple[DocumentPut, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Call:
    """Where a command comes from, why it was sent (prose), which version it was meant for, and what to keep with it.

    `keeps` says for the revision that the command gets which documents are written with it.
    """

    origin: Origin = HERE
    why: str = ""
    expected: Expected | None = None
    keeps: Callable[[int], Iterable[DocumentPut]] = _nothing

    def keeping(self, puts: Iterable[DocumentPut]) -> "Call":
        """Return a call with which these documents are written too."""
        more = tuple(puts)

        def keeps(revision: int) -> tuple[DocumentPut, ...]:
            return (*self.keeps(revision), *more)

        return replace(self, keeps=keeps)


BY_ITSELF = Call()
"""The deployment's own doing."""


def version(facts: Snapshot, resource: ResourceId) -> str:
    """Return the version of a resource: another one after anything that is stated about it itself has changed.

    It is made of the facts alone, so that every replica gives the same one and none is kept.
    """
    records = (facts.groups, facts.principals, facts.tokens, facts.agreements, facts.change_requests)
    stated = (
        *(asdict(each) for kind in (facts.resources, *records) if (each := _of(kind, resource)) is not None),
        dict(facts.settings.get(resource, {})),
        sorted((subject, keys) for subject, keys in facts.subjects.get(resource, {}).items()),
        facts.run_as.get(resource),
        facts.governs.get(resource),
    )
    return hashlib.sha256(json.dumps(stated, sort_keys=True, default=_sorted).encode()).hexdigest()[:16]


def _of(kind: Mapping[Any, Any], id: str) -> Any:  # noqa: ANN401 (a record of any kind; the fields are what counts)
    return kind.get(id)


def _sorted(value: Iterable[str]) -> list[str]:
    return sorted(value)
