"""Access requests over HTTP: under any name, with the same answer, and approved by users who may make the assignment."""

from typing import Any

import pytest

from tests.app.deployment_harness import OrganizationClient
from tests.endpoints.conftest import Make


@pytest.fixture
def acme(make: Make) -> OrganizationClient:
    """An organization of `nekt` with the databases `raw`, which max manages, and `secret`; vic is a member."""
    place = make()
    for name in ("raw", "secret"):
        assert place.call("owner", "POST", "/databases", {"name": name}).status_code == 201
    place.add("vic")
    place.add("max")
    place.give("max", "manager", "lake.raw")
    return place


def asked(place: OrganizationClient, resource: str, who: str = "vic", **query: Any) -> Any:
    body = {"action": "database.describe", "resource": resource, "purpose": "to know"}
    return place.call(who, "POST", "/requests", body, **query)


def listed(place: OrganizationClient, who: str, **query: Any) -> list[dict[str, Any]]:
    answer = place.call(who, "GET", "/requests", **query)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


class TestAsking:
    @pytest.mark.parametrize("dry_run", [True, False])
    def test_a_request_is_answered_alike_for_hidden_and_missing_resources(
        self, acme: OrganizationClient, *, dry_run: bool
    ) -> None:
        def answer(name: str) -> dict[str, Any]:
            found = asked(acme, name, dry_run=dry_run)
            assert found.status_code == (200 if dry_run else 201), found.text
            changes = [{**each, "request": ""} for each in found.json().get("changes", ())]
            return {**found.json(), "id": "", "revision": 0, "changes": changes}

        assert answer("lake.secret") == answer("lake.nosuch") == answer("what.ever.this.is.called")

    def test_a_list_of_own_requests_does_not_reveal_which_resources_exist(self, acme: OrganizationClient) -> None:
        for name in ("lake.secret", "lake.nosuch"):
            asked(acme, name)

        found = listed(acme, "vic", sort="resource")
        shown = [{key: each[key] for key in each if key not in ("id", "resource")} for each in found]
        assert [each["resource"] for each in found] == ["lake.nosuch", "lake.secret"]
        assert shown[0] == shown[1]
        assert shown[0]["own"]

    def test_a_request_is_found_by_its_action_and_resource(self, acme: OrganizationClient) -> None:
        for name in ("lake.secret", "lake.nosuch"):
            asked(acme, name)

        found = listed(acme, "vic", action="database.describe", resource="lake.secret")

        assert [each["resource"] for each in found] == ["lake.secret"]
        assert listed(acme, "vic", action="database.drop", resource="lake.secret") == []

    def test_a_request_without_purpose_or_for_an_allowed_action_is_refused(self, acme: OrganizationClient) -> None:
        assert asked(acme, "lake.raw", "max").status_code == 422
        body = {"action": "database.describe", "resource": "lake.raw", "purpose": " "}
        assert acme.call("vic", "POST", "/requests", body).status_code == 422

    def test_a_repeated_request_is_filed_once(self, acme: OrganizationClient) -> None:
        body = {"action": "database.describe", "resource": "lake.raw", "purpose": "to know"}
        ids = {acme.send("vic", "POST", "/requests", body, {"idempotency-key": "k"}).json()["id"] for _ in range(2)}

        assert [each["id"] for each in listed(acme, "vic")] == list(ids)


class TestApproving:
    def test_a_request_is_approved_by_a_user_that_may_assign_the_role(self, acme: OrganizationClient) -> None:
        id = asked(acme, "lake.raw").json()["id"]

        assert [(each["author"], each["waiting"]) for each in listed(acme, "max", which="waiting")] == [("vic", True)]
        assert listed(acme, "vic", which="waiting") == []
        assert (
            "only another user may approve it"
            in acme.call("vic", "POST", f"/requests/{id}/approve", {}).json()["detail"]
        )
        assert acme.call("max", "POST", f"/requests/{id}/approve", {"ends": 1.0}).status_code == 422
        assert acme.call("max", "POST", f"/requests/{id}/approve", {"ends": 4e9}).status_code == 200

        assert acme.call("vic", "GET", f"/requests/{id}").json()["state"] == "approved"
        assert acme.call("vic", "GET", "/resources/lake.raw").status_code == 200
        held = acme.call("vic", "GET", "/assignments", resource="lake.raw").json()["items"]
        assert [(each["reason"], each["ends"]) for each in held if each["subject"] == "vic"] == [(id, 4e9)]

    def test_a_rejected_request_cannot_be_approved(self, acme: OrganizationClient) -> None:
        id = asked(acme, "lake.raw").json()["id"]

        assert acme.call("max", "POST", f"/requests/{id}/reject").status_code == 200
        assert acme.call("max", "GET", f"/requests/{id}").status_code == 404
        assert acme.call("max", "POST", f"/requests/{id}/approve", {}).status_code == 404
        assert [each["state"] for each in listed(acme, "vic")] == ["rejected"]

    def test_a_request_for_a_missing_resource_has_no_approver(self, acme: OrganizationClient) -> None:
        asked(acme, "lake.nosuch")

        assert listed(acme, "owner") == []
