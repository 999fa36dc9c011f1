"""Versions of resources (ETags): the version changes with every fact or document that a caller can change."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, cast

from headgate.control.kernel.metadata import CommandOutcome, MayKnow, no_name
from headgate.control.kernel.ports import DocumentSource
from headgate.control.resources.document_kinds import document_kinds
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import NO_SUBJECTS, AccessRequest, Agreement, ChangeRequest, Snapshot

_NOT_STATED = frozenset(("shown", "table"))
"""Kinds of documents that runs and commits write, and no caller: they do not count for the version."""


def has_version(facts: Snapshot, id: str) -> bool:
    """Return whether the response to a write on this id has its version."""
    return ResourceId(id) in facts.resources or id in facts.requests


def compute_upcoming_version(outcome: CommandOutcome, resource: ResourceId) -> str:
    """Return the version that a resource will have once a command is written."""
    return resource_version(outcome.facts, outcome, resource, outcome.may_know)


def resource_version(facts: Snapshot, source: DocumentSource, resource: ResourceId, may_know: MayKnow = no_name) -> str:
    """Return the version of a resource. It is computed, not stored, and is the same on every replica.

    The version of an approval depends on the names that the reader may know, and on no others, because a reader could guess
    a hidden name from a version. A caller that shows documents of the resource must read them after this call: a change in
    between then makes the version outdated.
    """
    documents = dict(_documents(facts, source, resource))
    records = (facts.groups, facts.principals, facts.tokens)
    stated = (
        *(asdict(each) for kind in (facts.resources, *records) if (each := _of(kind, resource)) is not None),
        dict(facts.settings.get(resource, {})),
        facts.assignments_on.get(resource, NO_SUBJECTS).hash_sum,
        facts.run_as.get(resource),
        facts.governs.get(resource),
        *_approval(facts, source, resource, documents, may_know),
        documents,
    )
    return hashlib.sha256(json.dumps(stated, sort_keys=True, default=_sorted).encode()).hexdigest()[:16]


def _approval(
    facts: Snapshot, source: DocumentSource, id: ResourceId, documents: Mapping[str, Any], may_know: MayKnow
) -> Iterator[Mapping[str, Any]]:
    """Yield the approval record with this id, and the names of the objects to which the record and its documents refer."""
    for kind in (facts.agreements, facts.change_requests, facts.requests):
        found: Agreement | ChangeRequest | AccessRequest | None = _of(kind, id)
        if found is not None:
            record = _record(found, may_know)
            referred = {*_texts(record), *_texts(documents)}
            there = (each for each in referred if each in facts.resources or each in facts.principals)
            names = {each: _name(facts, source, each) for each in there if each == found.author or may_know(each)}
            yield {"record": record, "names": names}


def _record(found: Agreement | ChangeRequest | AccessRequest, may_know: MayKnow) -> dict[str, Any]:
    record = asdict(found)
    if isinstance(found, AccessRequest) and not (found.resource and may_know(found.resource)):
        # The author knows the name that the request was filed under, but not whether a resource has it.
        record["resource"] = None
    return record


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401 (whatever a document holds)
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        parts = cast("Iterable[Any]", value.values() if isinstance(value, Mapping) else value)
        for each in parts:
            yield from _texts(each)


def _name(facts: Snapshot, source: DocumentSource, id: str) -> Any:  # noqa: ANN401 (a document's member)
    if PrincipalId(id) in facts.principals:
        return (source.document("principal", id) or {}).get("name")
    return facts.full_name(ResourceId(id))


def _documents(
    facts: Snapshot, source: DocumentSource, resource: ResourceId
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for kind in _kinds(facts, resource):
        found = source.document(kind, resource)
        if found is not None:
            yield kind, found


def _kinds(facts: Snapshot, resource: ResourceId) -> Iterator[str]:
    found = facts.resources.get(resource)
    if found is not None:
        yield from (each for each in document_kinds(found.type) if each not in _NOT_STATED)
    if resource in facts.principals:
        yield "principal"
    if resource in facts.requests:
        yield "request"


def _of(kind: Mapping[Any, Any], id: str) -> Any:  # noqa: ANN401 (a record of any kind; the fields are what counts)
    return kind.get(id)


def _sorted(value: Iterable[str]) -> list[str]:
    return sorted(value)
