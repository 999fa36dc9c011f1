"""Optimistic concurrency of approvals: every field that an approver reads is part of the version that they approve."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from headgate.control.access.switches import ChangeSetting
from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.ports import DocumentPut
from headgate.endpoints.api.access.access_requests import AccessRequest
from headgate.endpoints.api.access.agreements import Agreement
from headgate.endpoints.api.access.change_requests import ChangeRequest
from tests.app.deployment_harness import OrganizationClient
from tests.endpoints.conftest import Make

FIXED = {"id", "action", "port", "consumer", "own"}
"""Fields of a record that nothing changes."""
FOLLOWING = {"active", "waiting", "resource", "version", "revision"}
"""Fields that follow from other fields, from the time or from the version."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A command that replaces a document."""

    document: DocumentPut
    name: str = "document.rewrite"

    def decide(self, view: CommandContext) -> CommandEffect:
        return CommandEffect((), (self.document,))


@dataclass(frozen=True, slots=True)
class Approval:
    """A record that waits for approval, its schema, its reader, and for each field that it shows a change of that field."""

    place: OrganizationClient
    path: str
    model: type[BaseModel]
    reader: str
    changes: dict[str, Callable[[], Any]]

    def read(self) -> tuple[dict[str, Any], str]:
        answer = self.place.call(self.reader, "GET", self.path)
        assert answer.status_code == 200, answer.text
        return answer.json(), answer.headers["etag"]

    def renamed(self, path: str, name: str, by: str = "") -> Callable[[], Any]:
        return lambda: self.place.result(by or self.reader, "PATCH", path, {"name": name})

    def rewritten(self, kind: str, body: dict[str, Any]) -> Callable[[], Any]:
        put = DocumentPut(kind, self.path.rpartition("/")[2], body)
        return lambda: self.place.control.execute(Rewritten(put), None)

    def called(self, method: str, end: str, body: Any) -> Callable[[], Any]:
        return lambda: self.place.result(self.reader, method, f"{self.path}{end}", body)


def mesh(make: Make) -> OrganizationClient:
    place = make("datamesh")
    place.program("robot", "reader")
    root = place.control.snapshot.organization
    assert root
    place.control.execute(ChangeSetting(root, "change_process", "true"), None)
    owner = {"owner": [{"to": "shop"}]}
    place.add("ann")
    for team in ("shop", "buyers"):
        place.result("owner", "POST", "/resources", {"type": "team", "parent": "organization", "name": team})
        assert place.give("ann", "owner", team).status_code == 201
        assert place.give("robot", "team_key", team).status_code == 201
    for body in (
        {"type": "data_product", "parent": "organization", "name": "orders", "relations": owner},
        {"type": "output_port", "parent": "orders", "name": "port"},
    ):
        place.result("owner", "POST", "/resources", body)
    return place


def access(make: Make) -> Approval:
    place = mesh(make)
    body = {"port": "orders.port", "consumer": "buyers", "purpose": "to know"}
    id = place.create("/access", body, by="robot")
    found = Approval(place, f"/access/{id}", Agreement, "ann", {})
    found.changes.update(
        port_name=found.renamed("/resources/orders.port", "salaries"),
        consumer_name=found.renamed("/resources/buyers", "sellers"),
        author=found.renamed("/service-principals/robot", "android", by="owner"),
        purpose=found.called("PATCH", "", {"purpose": "to sell it"}),
        state=found.called("POST", "/approve", {"starts": 1.0}),
        starts=found.called("PATCH", "", {"starts": 2.0}),
        ends=found.called("PATCH", "", {"ends": 4e9}),
    )
    return found


def change_request(make: Make) -> Approval:
    place = mesh(make)
    body = {"resource": "orders", "attributes": {"kind": ["x"]}, "why": "as it is"}
    id = place.create("/change-requests", body, by="robot")
    found = Approval(place, f"/change-requests/{id}", ChangeRequest, "ann", {})
    found.changes.update(
        resource_name=found.renamed("/resources/orders", "salaries"),
        author=found.renamed("/service-principals/robot", "android", by="owner"),
        change=found.rewritten("change_request", {"change": {"attributes": {"kind": ["y"]}}, "why": "as it is"}),
        why=found.rewritten("change_request", {"change": {"attributes": {"kind": ["x"]}}, "why": "otherwise"}),
        state=found.called("POST", "/reject", None),
    )
    return found


def request(make: Make) -> Approval:
    place = make()
    place.result("owner", "POST", "/databases", {"name": "raw"})
    place.program("robot", "member")
    body = {"action": "database.describe", "resource": "lake.raw", "purpose": "to know"}
    id = place.create("/requests", body, by="robot")
    found = Approval(place, f"/requests/{id}", AccessRequest, "owner", {})
    found.changes.update(
        resource=found.renamed("/resources/lake.raw", "salaries"),
        author=found.renamed("/service-principals/robot", "android", by="owner"),
        purpose=found.rewritten("request", {"name": "lake.raw", "purpose": "to sell it"}),
    )
    return found


KINDS = (access, change_request, request)


def changing(found: Approval) -> Iterator[tuple[str, str]]:
    """Make each change in turn; yield the name of its field and the version before it."""
    for field, change in found.changes.items():
        shown, before = found.read()
        change()
        now, after = found.read()
        assert now[field] != shown[field]
        assert after != before, field
        yield field, before


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_an_approval_is_covered_by_these_tests(make: Make, kind: Callable[[Make], Approval]) -> None:
    found = kind(make)
    decided = {"state"} if kind is request else set[str]()

    assert set(found.model.model_fields) == set(found.changes) | (FIXED | FOLLOWING | decided) & set(
        found.model.model_fields
    )


@pytest.mark.parametrize("kind", KINDS)
def test_an_approval_of_an_outdated_version_is_refused(make: Make, kind: Callable[[Make], Approval]) -> None:
    found = kind(make)
    for field, before in changing(found):
        open = found.read()[0]["state"] == "requested"
        end, method = ("/approve", "POST") if open else ("", "DELETE")
        if open or kind is access:
            refused = found.place.send(
                found.reader, method, found.path + end, {} if open else None, {"if-match": before}
            )
            assert refused.status_code == 412, (field, refused.text)


@pytest.mark.parametrize("kind", KINDS)
def test_an_approval_of_the_current_version_succeeds(make: Make, kind: Callable[[Make], Approval]) -> None:
    found = kind(make)
    _, etag = found.read()

    answer = found.place.send(found.reader, "POST", f"{found.path}/approve", {}, {"if-match": etag})
    assert answer.status_code == 200, answer.text


def test_a_decided_request_has_a_new_version(make: Make) -> None:
    found = request(make)
    before = found.place.call("robot", "GET", found.path).headers["etag"]
    found.place.result("owner", "POST", f"{found.path}/reject")

    assert found.place.call("robot", "GET", found.path).headers["etag"] != before


def test_the_version_of_a_request_reveals_no_hidden_changes_to_its_author(make: Make) -> None:
    found = request(make)
    before = found.place.call("robot", "GET", found.path)
    found.changes["resource"]()
    after = found.place.call("robot", "GET", found.path)

    assert after.headers["etag"] == before.headers["etag"]
    assert after.json()["resource"] == "lake.raw"
    assert found.read()[0]["resource"] == "lake.salaries"
    for name in ("lake.raw", "lake.salaries"):
        listed = found.place.call("owner", "GET", "/requests", resource=name).json()["items"]
        assert [each["resource"] for each in listed] == ["lake.salaries"]
