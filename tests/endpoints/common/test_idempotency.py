"""Idempotency under concurrency: simultaneous requests with one key are executed once, and get the same answer."""

import uuid
from functools import partial
from typing import Any

import pytest

from headgate.control.identity.principals import AddPrincipal
from headgate.facts.ids import PrincipalId
from tests.app.deployment_harness import DeploymentHarness, OrganizationClient
from tests.endpoints.api.resources.test_organizations import asked, login
from tests.endpoints.conftest import Make
from tests.threads import call_at_once

AT_ONCE, ROUNDS = 4, 5


SCHEMA = {"type": "struct", "fields": [{"id": 1, "name": "n", "type": "long", "required": False}]}
COMMIT = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"x": "1"}}]}


def send_at_once(place: OrganizationClient, path: str, body: Any, key: str) -> list[Any]:
    """Send a request several times at the same moment; return the answers."""
    one = partial(place.send, "owner", "POST", path, body, {"idempotency-key": key})
    return call_at_once([one] * AT_ONCE)


def to_the_catalog(place: OrganizationClient, method: str, path: str, body: Any = None, key: str = "") -> Any:
    """Send a request to the Iceberg catalog as the owner, and return the answer."""
    headers = {"authorization": f"Bearer {place.tokens['owner']}", **({"idempotency-key": key} if key else {})}
    return place.http.request(method, f"{place.address}/iceberg/v1{path}", json=body, headers=headers)


def to_the_catalog_at_once(place: OrganizationClient, method: str, path: str, body: Any = None) -> list[Any]:
    """Send a request to the catalog several times at the same moment with one key; return the answers."""
    return call_at_once([partial(to_the_catalog, place, method, path, body, str(uuid.uuid4()))] * AT_ONCE)


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("/groups", lambda number: {"name": f"crew{number}"}),
        ("/databases", lambda number: {"name": f"db{number}"}),
        ("/service-principals", lambda number: {"name": f"bot{number}", "role": "member"}),
        ("/users", lambda number: {"name": f"ben{number}", "role": "member"}),
    ],
    ids=["groups", "databases", "service principals", "users"],
)
def test_concurrent_requests_under_one_key_get_the_same_answer(make: Make, path: str, named: Any) -> None:
    acme = make()
    for number in range(ROUNDS):
        answers = send_at_once(acme, path, named(number), f"key{number}")

        assert {each.status_code for each in answers} == {201}, [each.text for each in answers]
        assert len({(each.json()["id"], each.json()["revision"]) for each in answers}) == 1


def test_equal_requests_under_different_keys_are_separate_requests(make: Make) -> None:
    acme = make()
    answers = [acme.send("owner", "POST", "/groups", {"name": "crew"}, {"idempotency-key": key}) for key in ("a", "b")]

    assert [each.status_code for each in answers] == [201, 409]


def test_the_same_key_in_two_organizations_creates_two_users(make: Make, world: DeploymentHarness) -> None:
    places, secret = (make(), make()), login(world, "una")
    una, logins = (
        world.deployment.auth_services.authentication.user_of("una").principal,
        world.deployment.auth_services.authentication,
    )
    made: list[str] = []
    for place, name in zip(places, ("bob", "eve"), strict=True):
        place.control.execute(AddPrincipal(una, "una", "owner"), None)
        path = f"{place.address}/api/v1/users"
        answer = asked(world, secret, "POST", path, {"name": name}, idempotency_key="user-1")
        assert answer.status_code == 201, answer.text
        made.append(answer.json()["id"])

    assert [user.name for each in made if (user := logins.user(PrincipalId(each)))] == ["bob", "eve"]


def test_concurrent_catalog_requests_under_one_key_get_the_same_answer(make: Make) -> None:
    acme = make()
    for number in range(ROUNDS):
        named = {"namespace": [f"db{number}"]}
        made = to_the_catalog_at_once(acme, "POST", "/namespaces", named)
        assert {each.status_code for each in made} == {200}, [each.text for each in made]

        tables = f"/namespaces/db{number}/tables"
        made = to_the_catalog_at_once(acme, "POST", tables, {"name": "t", "schema": SCHEMA})
        assert {each.status_code for each in made} == {200}, [each.text for each in made]
        assert len({each.json()["metadata"]["table-uuid"] for each in made}) == 1

        committed = to_the_catalog_at_once(acme, "POST", f"{tables}/t", COMMIT)
        assert {each.status_code for each in committed} == {200}, [each.text for each in committed]
        assert len({each.json()["metadata-location"] for each in committed}) == 1

        dropped = to_the_catalog_at_once(acme, "DELETE", f"{tables}/t")
        assert {each.status_code for each in dropped} == {204}, [each.text for each in dropped]


def test_a_commit_beside_a_drop_with_purge_is_carried_out_or_refused(make: Make) -> None:
    acme = make()
    assert to_the_catalog(acme, "POST", "/namespaces", {"namespace": ["db"]}).status_code == 200
    for number in range(15):
        path = f"/namespaces/db/tables/t{number}"
        made = to_the_catalog(acme, "POST", "/namespaces/db/tables", {"name": f"t{number}", "schema": SCHEMA})
        assert made.status_code == 200

        dropped, committed = call_at_once(
            (
                partial(to_the_catalog, acme, "DELETE", f"{path}?purgeRequested=true"),
                partial(to_the_catalog, acme, "POST", path, COMMIT),
            )
        )

        assert dropped.status_code == 204, dropped.text
        assert committed.status_code in (200, 400, 404, 409), committed.text
