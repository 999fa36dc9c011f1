"""Plain writes: requests without options are served with the same results as by the ordinary form of their endpoint."""

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi.routing import APIRoute, iter_route_contexts

from headgate.control.command_writer import CommandWriter
from headgate.control.kernel.ports import Head, LogWrite, StoreError
from headgate.endpoints.common import plain_writes
from headgate.store.log import SqlStore
from tests.app.deployment_harness import DeploymentHarness, OrganizationClient
from tests.endpoints.conftest import Make
from tests.threads import wait_until

GRANT = {"subject": "vic", "role": "viewer", "resource": "lake.raw"}
ORDINARY = {"x-option": "none"}
"""An unknown header, which may be an option: the ordinary form serves the request."""


@pytest.fixture(name="acme")
def furnished(make: Make) -> OrganizationClient:
    acme = make("nekt")
    assert acme.call("owner", "POST", "/databases", {"name": "raw"}).status_code == 201
    acme.add("vic")
    return acme


@pytest.fixture(name="served")
def record_plain_writes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The methods of the requests that the plain form serves."""
    served, write = list[str](), plain_writes._write  # pyright: ignore[reportPrivateUsage]

    async def recorded(request: Any, *rest: Any) -> Any:
        served.append(request.method)
        return await write(request, *rest)

    monkeypatch.setattr(plain_writes, "_write", recorded)
    return served


def _answer(acme: OrganizationClient, method: str, said: Mapping[str, Any], by: str, headers: Mapping[str, str]) -> Any:
    """Return what a client sees of the response, except what differs between two requests."""
    body, query = (said, {}) if method == "POST" else (None, said)
    answer = acme.send(by, method, "/assignments", body, headers, **query)
    shown = {key: value for key, value in answer.json().items() if key not in ("revision", "version", "request")}
    return answer.status_code, answer.headers["content-type"], "etag" in answer.headers, shown


@pytest.mark.parametrize(
    ("method", "changed", "by"),
    [
        ("POST", {}, "owner"),
        ("POST", {"ends": 9e9, "reason": "trial"}, "owner"),
        ("POST", {"ends": 1.0}, "owner"),
        ("POST", {"role": "no-role"}, "owner"),
        ("POST", {"subject": "no-such-user"}, "owner"),
        ("POST", {"resource": "lake.none"}, "owner"),
        ("POST", {}, "vic"),
        ("POST", {"role": 5}, "owner"),
        ("POST", {"unknown": "field"}, "owner"),
        ("POST", {"role": "r" * 101}, "owner"),
        ("DELETE", {}, "owner"),
        ("DELETE", {}, "vic"),
        ("DELETE", {"reason": "trial"}, "owner"),
        ("DELETE", {"role": "editor"}, "owner"),
        ("DELETE", {"unknown": "parameter"}, "owner"),
        ("DELETE", {"role": ["viewer", "viewer"]}, "owner"),
    ],
)
def test_the_plain_form_has_the_results_of_the_ordinary_form(
    acme: OrganizationClient, method: str, changed: Mapping[str, Any], by: str
) -> None:
    if method == "DELETE":
        acme.give("vic", "viewer", "lake.raw")
    said = {**GRANT, **changed}

    plain = _answer(acme, method, said, by, {})
    if method == "DELETE" and plain[0] == 200:
        acme.give("vic", "viewer", "lake.raw")

    assert plain == _answer(acme, method, said, by, ORDINARY)


def test_a_request_with_an_option_is_served_by_the_ordinary_form(acme: OrganizationClient, served: list[str]) -> None:
    options: tuple[tuple[Mapping[str, str], Mapping[str, Any]], ...] = (
        ({"idempotency-key": "k"}, {}),
        ({"if-match": "*"}, {}),
        ({"headgate-why": "because"}, {}),
        ({"cookie": "headgate=x"}, {}),
        ({"content-type": "application/json; charset=utf-8"}, {}),
        (ORDINARY, {}),
        ({}, {"dry_run": True}),
    )

    for headers, query in options:
        assert acme.send("owner", "POST", "/assignments", GRANT, headers, **query).status_code in (200, 201)
    assert served == []
    assert acme.call("owner", "POST", "/assignments", GRANT).status_code == 201
    assert acme.call("owner", "DELETE", "/assignments", **GRANT).status_code == 200
    assert served == ["POST", "DELETE"]


def test_a_lone_surrogate_is_refused_in_both_forms(acme: OrganizationClient) -> None:
    body = b'{"subject": "vic", "role": "\\ud800", "resource": "lake.raw"}'
    known = {"authorization": f"Bearer {acme.tokens['owner']}", "content-type": "application/json"}
    path = f"{acme.address}/api/v1/assignments"

    answers = [acme.http.post(path, content=body, headers={**known, **more}) for more in ({}, ORDINARY)]

    assert [each.status_code for each in answers] == [422, 422]


def test_every_endpoint_with_a_plain_form_has_its_route_class(world: DeploymentHarness) -> None:
    routes = [each.original_route for each in iter_route_contexts(world.app.routes)]
    plain = [each for each in routes if isinstance(each, APIRoute) and hasattr(each.endpoint, "read_plain_write")]

    assert [type(each) for each in plain] == [plain_writes.PlainWriteRoute] * 2


def test_a_refused_plain_write_is_recorded_once_in_the_audit(acme: OrganizationClient, served: list[str]) -> None:
    acme.give("vic", "viewer", "lake.raw")

    assert acme.call("vic", "POST", "/assignments", {**GRANT, "subject": "owner"}).status_code == 403
    assert acme.call("vic", "GET", "/audit").status_code == 403

    assert served == ["POST", "POST"]
    wait_until(lambda: _list_recorded(acme, "organization.read_audit"))  # recorded after the other one
    assert len(_list_recorded(acme, "assignment.add")) == 1


def _list_recorded(acme: OrganizationClient, action: str) -> list[Any]:
    items: list[Any] = acme.call("owner", "GET", "/audit/decisions", principal="vic").json()["items"]
    return [each for each in items if each["action"] == action]


def test_a_plain_write_that_cannot_be_stored_gets_an_error_and_has_no_effect(
    acme: OrganizationClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: SqlStore, __: Head, *___: LogWrite) -> Head:
        raise StoreError("the disk is full")

    before = acme.control.snapshot
    with monkeypatch.context() as patch:
        patch.setattr(SqlStore, "append", full)
        assert acme.call("owner", "POST", "/assignments", GRANT).status_code == 503

    assert acme.control.snapshot is before
    assert acme.call("owner", "POST", "/assignments", GRANT).status_code == 201


def test_an_unexpected_error_reaches_every_request_that_waits(
    acme: OrganizationClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: CommandWriter) -> None:
        raise RuntimeError("broken")

    with monkeypatch.context() as patch:
        patch.setattr(CommandWriter, "write_submitted", broken)
        assert acme.send("owner", "POST", "/assignments", GRANT, {"connection": "close"}).status_code == 500

    assert acme.call("owner", "POST", "/assignments", GRANT).status_code == 201


def test_plain_writes_of_several_clients_are_all_written(acme: OrganizationClient) -> None:
    people = [acme.add(f"user-{number}") for number in range(24)]
    ready = threading.Barrier(8)

    def grant(part: int) -> list[int]:
        ready.wait()
        said = [{**GRANT, "subject": each} for each in people[part::8]]
        return [acme.call("owner", "POST", "/assignments", each).json()["revision"] for each in said]

    with ThreadPoolExecutor(8) as pool:
        revisions = [each for found in pool.map(grant, range(8)) for each in found]

    assert len(set(revisions)) == len(people)
    held = {subject for subject, _ in acme.control.snapshot.assignments_on[_raw(acme)].items()}
    assert held >= set(people)


def _raw(acme: OrganizationClient) -> Any:
    return next(id for id, each in acme.control.snapshot.resources.items() if each.name == "raw")
