"""The version of a resource changes with every field that a caller can read of it."""

import pytest

from headgate.control.kernel.metadata import CommandOutcome
from headgate.control.kernel.ports import DocumentPut
from headgate.control.resources.document_kinds import document_kinds
from headgate.control.resources.versions import compute_upcoming_version, resource_version
from headgate.facts.changes import OrganizationCreated, PrincipalAdded, ResourceCreated
from headgate.facts.fold import fold
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Snapshot
from tests.fakes.store import FakeStore

X = ResourceId("x")
ROOT = ResourceId("root")
ORGANIZATION = fold(Snapshot(), [OrganizationCreated(ROOT, "acme", "nekt")], 1)
TYPES = (
    "access",
    "change_request",
    "connection",
    "data_contract",
    "data_product",
    "database",
    "group",
    "query",
    "source",
    "visualization",
)


def one_of(type: str) -> Snapshot:
    return fold(ORGANIZATION, [ResourceCreated(X, type, ROOT, "x")], 2)


@pytest.mark.parametrize(
    ("type", "kind"), [(type, kind) for type in TYPES for kind in document_kinds(type) if kind != "shown"]
)
def test_a_version_changes_with_every_document_of_the_resource(type: str, kind: str) -> None:
    facts, store = one_of(type), FakeStore()
    versions = [resource_version(facts, store, X)]
    for text in ("one", "two"):
        store.put_document(DocumentPut(kind, X, {"text": text}))
        versions.append(resource_version(facts, store, X))
    store.put_document(DocumentPut(kind, X, None))

    assert len(set(versions)) == 3
    assert resource_version(facts, store, X) == versions[0]


@pytest.mark.parametrize(
    ("type", "kind"), [(type, kind) for type in TYPES for kind in document_kinds(type) if kind != "shown"]
)
@pytest.mark.parametrize("body", [{"text": "after"}, None])
def test_the_version_after_a_command_is_computed_before_its_documents_are_written(
    type: str, kind: str, body: dict[str, str] | None
) -> None:
    facts, store = one_of(type), FakeStore()
    store.put_document(DocumentPut(kind, X, {"text": "before"}))
    put = DocumentPut(kind, X, body)
    foreseen = compute_upcoming_version(CommandOutcome(facts, store, (put,)), X)
    store.put_document(put)

    assert foreseen == resource_version(facts, store, X)


@pytest.mark.parametrize("kind", ["user", "service_principal"])
def test_a_version_changes_with_the_name_of_a_principal(kind: str) -> None:
    facts, store = fold(ORGANIZATION, [PrincipalAdded(PrincipalId(X), kind)], 2), FakeStore()
    store.put_document(DocumentPut("principal", X, {"name": "before"}))
    before = resource_version(facts, store, X)
    store.put_document(DocumentPut("principal", X, {"name": "after"}))

    assert resource_version(facts, store, X) != before


@pytest.mark.parametrize(("type", "kind"), [("table", "table"), ("visualization", "shown")])
def test_a_version_stays_when_a_run_or_a_commit_writes(type: str, kind: str) -> None:
    facts, store = one_of(type), FakeStore()
    before = resource_version(facts, store, X)
    store.put_document(DocumentPut(kind, X, {"answered": []}))

    assert resource_version(facts, store, X) == before
