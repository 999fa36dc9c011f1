"""Query parameters: a route refuses one that it does not have, and names those that it has."""

from collections.abc import Iterator

import pytest

from tests.app.deployment_harness import OrganizationClient
from tests.endpoints.conftest import Make


@pytest.fixture
def acme(make: Make) -> OrganizationClient:
    return make()


def test_an_unknown_query_parameter_is_refused_with_those_of_the_route(acme: OrganizationClient) -> None:
    answer = acme.call("owner", "GET", "/requests", wich="own", actoin="table.select", limit=3)

    assert answer.status_code == 422
    assert [each["at"] for each in answer.json()["faults"]] == ["query.wich", "query.actoin"]
    assert answer.json()["faults"][0]["fault"].startswith("there is no such query parameter; this route has `")
    assert "`which`" in answer.json()["faults"][0]["fault"]


def test_a_long_unknown_query_parameter_is_not_repeated_in_full(acme: OrganizationClient) -> None:
    answer = acme.call("owner", "GET", "/requests", **{"a" * 20_000: "1"})

    assert answer.status_code == 422
    assert len(answer.content) < 1000


def test_a_write_refuses_an_unknown_query_parameter_and_changes_nothing(acme: OrganizationClient) -> None:
    before = acme.control.snapshot.revision

    answer = acme.call("owner", "POST", "/groups", {"name": "the crew"}, dryrun="true")

    assert answer.status_code == 422
    assert acme.control.snapshot.revision == before


def test_a_create_of_an_invitation_refuses_an_unknown_query_parameter(acme: OrganizationClient) -> None:
    answer = acme.call("owner", "POST", "/invitations", {"name": "zed"}, dryrun="true")

    assert answer.status_code == 422
    assert "query.dryrun" in answer.text


def _routes(acme: OrganizationClient) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the method, path below `/api/v1` and query parameters of each route of the OpenAPI document."""
    paths = acme.http.get("/api/openapi.json").json()["paths"]
    for path, operations in paths.items():
        for method, operation in operations.items():
            named = [each["name"] for each in operation.get("parameters", []) if each["in"] == "query"]
            if path.startswith("/api/v1/"):
                yield method.upper(), path.removeprefix("/api/v1").replace("{", "").replace("}", ""), named


def test_every_route_but_that_of_devices_refuses_an_unknown_query_parameter(acme: OrganizationClient) -> None:
    ignoring = [
        path for method, path, _ in _routes(acme) if "query.zz" not in acme.call("owner", method, path, zz=1).text
    ]

    assert ignoring == ["/devices/code"]


def test_every_read_accepts_its_documented_query_parameters(acme: OrganizationClient) -> None:
    refused = [
        (path, name)
        for method, path, names in _routes(acme)
        for name in names
        if method == "GET" and "no such query parameter" in acme.call("owner", "GET", path, **{name: "1"}).text
    ]

    assert refused == []


def test_every_known_query_parameter_is_accepted(acme: OrganizationClient) -> None:
    answer = acme.call("owner", "GET", "/requests", which="own", action="table.select", limit=3, sort="state", q="x")

    assert answer.status_code == 200
