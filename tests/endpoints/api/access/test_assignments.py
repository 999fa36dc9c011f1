from typing import Any

import pytest

from tests.app.deployment_harness import OrganizationClient
from tests.endpoints.conftest import Make

PLACES = {"nekt": "lake.raw", "y42": "one", "onehouse": "one", "datamesh": "shop"}
ROLES = {"nekt": "viewer", "y42": "viewer", "onehouse": "member", "datamesh": "editor"}
MODELS = tuple(PLACES)


def furnished(make: Make, model: str) -> OrganizationClient:
    """An organization with the user vic and a resource to assign roles on."""
    acme = make(model)
    noun = {"nekt": "databases", "datamesh": "teams"}.get(model, "projects")
    made = acme.call("owner", "POST", f"/{noun}", {"name": PLACES[model].rpartition(".")[2]})
    assert made.status_code == 201, made.text
    acme.add("vic")
    return acme


def held(acme: OrganizationClient, who: str = "owner", **query: Any) -> list[tuple[str, str, str]]:
    found = acme.call(who, "GET", "/assignments", **query)
    assert found.status_code == 200, found.text
    return [(each["subject"], each["role"], each["resource"]) for each in found.json()["items"]]


@pytest.mark.parametrize("model", MODELS)
class TestUnderEveryModel:
    def test_an_assignment_is_created_listed_and_revoked(self, make: Make, model: str) -> None:
        acme, place, role = furnished(make, model), PLACES[model], ROLES[model]
        said = {"subject": "vic", "role": role, "resource": place}

        given = acme.call("owner", "POST", "/assignments", said)

        assert given.status_code == 201, given.text
        assert held(acme, subject="vic", resource=place) == [("vic", role, place)]
        assert ("vic", role, place) in held(acme, "vic", resource=place)
        assert acme.call("owner", "DELETE", "/assignments", **said).status_code == 200
        assert held(acme, subject="vic", resource=place) == []
        assert acme.call("owner", "DELETE", "/assignments", **said).status_code == 404

    def test_a_dry_run_of_an_assignment_reports_effects_and_writes_nothing(self, make: Make, model: str) -> None:
        acme = furnished(make, model)
        before = acme.control.snapshot
        said = {"subject": "vic", "role": ROLES[model], "resource": PLACES[model]}

        foreseen = acme.call("owner", "POST", "/assignments", said, dry_run=True)

        assert foreseen.status_code == 200
        assert foreseen.json()["needed"][0]["action"] == "assignment.add"
        assert {each["name"] for each in foreseen.json()["effects"]} == {"vic"}
        assert acme.control.snapshot is before

    def test_a_refused_assignment_names_only_existing_users_as_approvers(self, make: Make, model: str) -> None:
        acme = furnished(make, model)
        acme.give("vic", ROLES[model], PLACES[model])

        for subject in ("vic", "owner", "nobody-has-this-name"):
            said = {"subject": subject, "role": ROLES[model], "resource": PLACES[model]}
            refused = acme.call("vic", "POST", "/assignments", said)
            assert refused.status_code in (403, 404), refused.text
            assert "?" not in refused.json()["detail"]

    def test_a_refused_assignment_does_not_reveal_that_the_subject_exists(self, make: Make, model: str) -> None:
        acme = furnished(make, model)
        acme.give("vic", ROLES[model], PLACES[model])
        acme.add("sam")

        answers = [acme.give(name, ROLES[model], PLACES[model], by="vic") for name in ("sam", "nobody", "All")]

        assert {each.status_code for each in answers} <= {403, 404}
        assert len({each.text for each in answers}) == 1
        assert acme.give("nobody", ROLES[model], PLACES[model]).status_code == 404


class TestDates:
    def test_the_dates_of_an_assignment_are_stored_and_enforced(self, make: Make) -> None:
        acme = furnished(make, "nekt")
        said = {"subject": "vic", "role": "viewer", "resource": "lake.raw", "starts": 9e9, "ends": 9.5e9}

        assert acme.call("owner", "POST", "/assignments", said).status_code == 201
        found = acme.call("owner", "GET", "/assignments", subject="vic", resource="lake.raw").json()["items"][0]
        assert (found["starts"], found["ends"]) == (9e9, 9.5e9)
        assert acme.call("vic", "GET", "/resources/lake.raw").status_code == 404
        assert acme.call("owner", "POST", "/assignments", {**said, "ends": 8e9}).status_code == 422
        assert acme.call("owner", "POST", "/assignments", {**said, "grantor": "vic"}).status_code == 422


class TestAnotherRole:
    def test_a_changed_role_replaces_the_former_one(self, make: Make) -> None:
        acme = furnished(make, "nekt")
        acme.give("vic", "viewer", "lake.raw")
        said = {"subject": "vic", "role": "viewer", "resource": "lake.raw"}

        assert acme.call("owner", "PATCH", "/assignments", {"role": "editor"}, **said).status_code == 200
        assert held(acme, subject="vic", resource="lake.raw") == [("vic", "editor", "lake.raw")]
        assert acme.call("owner", "PATCH", "/assignments", {"role": "editor"}, **said).status_code == 404


class TestSeveralAtOnce:
    def said(self, *names: str) -> dict[str, Any]:
        return {"assignments": [{"subject": each, "role": "viewer", "resource": "lake.raw"} for each in names]}

    def test_a_batch_of_assignments_is_one_revision(self, make: Make) -> None:
        acme = furnished(make, "nekt")
        acme.add("sam")
        before = acme.control.snapshot.revision

        done = acme.call("owner", "POST", "/assignments/batch", self.said("vic", "sam"))

        assert done.status_code == 201, done.text
        assert done.json()["revision"] == before + 1
        assert len(held(acme, resource="lake.raw")) == 2

    def test_a_batch_with_an_invalid_assignment_changes_nothing(self, make: Make) -> None:
        acme = furnished(make, "nekt")
        before = acme.control.snapshot

        body = self.said("vic", "owner")
        body["assignments"][1]["role"] = "owner"

        assert acme.call("owner", "POST", "/assignments/batch", body).status_code in (403, 422)
        assert acme.call("owner", "POST", "/assignments/batch", self.said("vic", "nobody")).status_code == 404
        assert acme.call("owner", "POST", "/assignments/batch", {"assignments": []}).status_code == 422
        assert acme.control.snapshot is before


class TestAList:
    def test_the_assignment_list_omits_hidden_resources_and_users(self, make: Make) -> None:
        acme = furnished(make, "nekt")
        acme.call("owner", "POST", "/databases", {"name": "secret"})
        acme.add("sam")
        acme.give("vic", "viewer", "lake.raw")
        acme.give("sam", "viewer", "lake.secret")

        assert set(held(acme, "vic")) == {("vic", "member", "organization"), ("vic", "viewer", "lake.raw")}
        assert acme.call("vic", "GET", "/assignments", resource="lake.secret").status_code == 404
        assert held(acme, "vic", subject="sam") == []

    def test_an_assignment_that_does_not_count_now_does_not_reveal_the_name_of_its_resource(self, make: Make) -> None:
        acme = furnished(make, "nekt")
        id = acme.call("owner", "GET", "/resources/lake.raw").json()["id"]
        body = {"subject": "vic", "role": "viewer", "resource": id, "starts": 9e9}
        acme.call("owner", "POST", "/assignments", body).raise_for_status()
        acme.call("owner", "PATCH", f"/resources/{id}", {"name": "layoffs"}).raise_for_status()

        roles = acme.call("vic", "GET", "/me").json()["roles"]
        listed = acme.call("vic", "GET", "/assignments").json()["items"]

        assert "layoffs" not in str((roles, listed))
        assert id in [each["resource"] for each in roles]
        assert id in [each["resource"] for each in listed]
        assert ("vic", "viewer", "lake.layoffs") in held(acme, "owner")

    def test_the_assignment_list_can_be_filtered_and_paged(self, make: Make) -> None:
        acme = furnished(make, "nekt")
        acme.give("vic", "viewer", "lake.raw")

        first = acme.call("owner", "GET", "/assignments", limit=1, sort="-role").json()
        assert [each["role"] for each in first["items"]] == ["viewer"]
        assert len(held(acme, cursor=first["next"], sort="-role")) == 2
        assert held(acme, role="owner") == [("owner", "owner", "organization")]
        assert held(acme, reason="nothing") == []

    def test_the_assignment_list_can_be_read_as_of_a_past_revision(self, make: Make) -> None:
        acme = furnished(make, "nekt")
        before = acme.control.snapshot.revision
        acme.give("vic", "viewer", "lake.raw")

        assert held(acme, as_of=before, resource="lake.raw") == []
        assert len(held(acme, at_least=before + 1, resource="lake.raw")) == 1
        assert acme.call("owner", "GET", "/assignments", at_least=10**6).status_code == 409


def test_an_assignment_is_checked_against_the_version_of_its_resource(make: Make) -> None:
    acme = furnished(make, "nekt")
    version = acme.call("owner", "GET", "/resources/lake.raw").headers["etag"]
    said = {"subject": "vic", "role": "viewer", "resource": "lake.raw"}

    assert acme.send("owner", "POST", "/assignments", said, {"if-match": version}).status_code == 201
    assert acme.send("owner", "POST", "/assignments", said, {"if-match": version}).status_code == 412
