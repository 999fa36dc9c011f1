"""The version of a resource: another one after a fact or a document has changed that a caller states of it."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from headgate.control.call import Outcome
from headgate.control.resources import document_kinds
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot

_NOT_STATED = frozenset(("shown", "table"))
"""Kinds of documents that runs and commits write: nothing in them is stated by a caller."""


class Documents(Protocol):
    """Where documents are read, as a store is."""

    def document(self, kind: str, id: str) -> Mapping[str, Any] | None:
        """Return one document, or None."""
        ...


@dataclass(frozen=True, slots=True)
class _Upcoming:
    """The documents of a store as they will be after a command."""

    outcome: Outcome
    store: Documents

    def document(self, kind: str, id: str) -> Mapping[str, Any] | None:
        puts = (put for put in reversed(self.outcome.documents) if (put.kind, put.id) == (kind, id))
        put = next(puts, None)
        return put.body if put is not None else self.store.document(kind, id)


def upcoming_version(outcome: Outcome, store: Documents, resource: ResourceId) -> str:
    """Return the version that a resource will have once a command is written."""
    return version(outcome.facts, _Upcoming(outcome, store), resource)


def version(facts: Snapshot, store: Documents, resource: ResourceId) -> str:
    """Return the version of a resource, the same on every replica: none is kept.

    A caller that shows documents of the resource reads them after this: what changes in between makes the version an old one.
    """
    records = (facts.groups, facts.principals, facts.tokens, facts.agreements, facts.change_requests)
    stated = (
        *(asdict(each) for kind in (facts.resources, *records) if (each := _of(kind, resource)) is not None),
        dict(facts.settings.get(resource, {})),
        sorted((subject, keys) for subject, keys in facts.subjects.get(resource, {}).items()),
        facts.run_as.get(resource),
        facts.governs.get(resource),
        dict(_documents(facts, store, resource)),
    )
    return hashlib.sha256(json.dumps(stated, sort_keys=True, default=_sorted).encode()).hexdigest()[:16]


def _documents(facts: Snapshot, store: Documents, resource: ResourceId) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for kind in _kinds(facts, resource):
        found = store.document(kind, resource)
        if found is not None:
            yield kind, found


def _kinds(facts: Snapshot, resource: ResourceId) -> Iterator[str]:
    found = facts.resources.get(resource)
    if found is not None:
        yield from (each for each in document_kinds(found.type) if each not in _NOT_STATED)
    if resource in facts.principals:
        yield "principal"


def _of(kind: Mapping[Any, Any], id: str) -> Any:  # noqa: ANN401 (a record of any kind; the fields are what counts)
    return kind.get(id)


def _sorted(value: Iterable[str]) -> list[str]:
    return sorted(value)
