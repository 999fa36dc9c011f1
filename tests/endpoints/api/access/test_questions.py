"""Questions over HTTP: checks for the caller and for others, explanations, lists of principals and resources, and what if."""

from typing import Any

import pytest

from tests.app.deployment_harness import OrganizationClient
from tests.endpoints.conftest import Make

SEE = {"action": "database.describe", "resource": "lake.raw"}


@pytest.fixture
def acme(make: Make) -> OrganizationClient:
    """An organization of `nekt` with the database `raw`, which ed may edit, and `secret`; vic is a member."""
    place = make()
    for name in ("raw", "secret"):
        assert place.call("owner", "POST", "/databases", {"name": name}).status_code == 201
    place.add("vic")
    place.add("ed")
    place.give("ed", "editor", "lake.raw")
    return place


def names(answer: Any) -> list[str]:
    """Return the names of the items in a list."""
    assert answer.status_code == 200, answer.text
    return [each["name"] for each in answer.json()["items"]]


class TestAsking:
    def test_a_user_asks_about_themselves_on_visible_resources_only(self, acme: OrganizationClient) -> None:
        answer = acme.call("ed", "POST", "/questions", SEE)

        assert answer.json()["allowed"] is True
        assert answer.json()["revision"] == acme.control.snapshot.revision
        assert acme.call("vic", "POST", "/questions", SEE).status_code == 404
        assert not acme.call("ed", "POST", "/questions", {**SEE, "action": "database.drop"}).json()["allowed"]

    def test_a_question_about_another_user_needs_a_privilege(self, acme: OrganizationClient) -> None:
        for path in ("/questions", "/questions/explain"):
            assert acme.call("ed", "POST", path, {**SEE, "subject": "vic"}).status_code == 403
            assert acme.call("ed", "POST", path, {**SEE, "subject": "nobody"}).status_code == 403
            assert acme.call("owner", "POST", path, {**SEE, "subject": "nobody"}).status_code == 404
            assert acme.call("owner", "POST", path, {**SEE, "subject": "ed"}).json()["allowed"] is True

    def test_a_question_about_an_assignment_considers_its_properties(self, acme: OrganizationClient) -> None:
        vic = acme.caller("vic").principal
        give = {"action": "assignment.add", "resource": "lake.raw", "properties": {"role": "viewer", "to": vic}}

        assert acme.call("owner", "POST", "/questions", give).json()["allowed"]
        assert not acme.call("ed", "POST", "/questions", {**give, "properties": {"role": "manager", "to": vic}}).json()[
            "allowed"
        ]
        assert acme.call("ed", "POST", "/questions", {**give, "properties": {"role": ["a"]}}).status_code == 422

    def test_a_question_can_be_asked_as_of_and_at_least_at_a_revision(self, acme: OrganizationClient) -> None:
        before = acme.control.snapshot.revision
        acme.give("vic", "viewer", "lake.raw")
        asked = {**SEE, "subject": "vic"}

        assert acme.call("owner", "POST", "/questions", asked, at_least=before + 1).json()["allowed"] is True
        assert acme.call("owner", "POST", "/questions", asked, as_of=before).json()["allowed"] is False
        assert acme.call("owner", "POST", "/questions", asked, as_of="2999-01-01T00:00:00Z").json()["allowed"] is True
        not_yet = acme.call("owner", "POST", "/questions", asked, at_least=before + 10)
        assert (not_yet.status_code, not_yet.json()["title"]) == (409, "not yet")


class TestWhy:
    def test_an_explained_denial_names_the_assignments_that_would_allow_it(self, acme: OrganizationClient) -> None:
        acme.give("vic", "viewer", "lake.raw")

        answer = acme.call("vic", "POST", "/questions/explain", {**SEE, "action": "database.alter"}).json()

        assert answer["fixes"] == [
            {"assignments": [{"role": "editor", "resource": "lake.raw", "approvers": ["owner"]}]}
        ]

    def test_an_explained_allow_names_the_assignments_behind_it(self, acme: OrganizationClient) -> None:
        answer = acme.call("ed", "POST", "/questions/explain", SEE).json()

        ways = {(each["assigned"], each["on"], each["subject"]) for each in answer["because"]}
        assert ways == {("editor", "lake.raw", "ed")}


class TestWhoAndWhere:
    def test_listing_the_principals_that_may_act_needs_a_privilege(self, acme: OrganizationClient) -> None:
        asked = {"action": "database.alter", "resource": "lake.raw"}

        assert names(acme.call("owner", "POST", "/questions/who", asked)) == ["ed", "owner"]
        assert names(acme.call("owner", "GET", "/resources/lake.raw/who", action="database.alter")) == ["ed", "owner"]
        assert acme.call("ed", "POST", "/questions/who", asked).status_code == 403
        assert acme.call("ed", "GET", "/resources/lake.raw/who", action="database.alter").status_code == 403

    def test_the_principals_that_may_assign_a_role_are_listed_for_that_role(self, acme: OrganizationClient) -> None:
        vic = acme.caller("vic").principal
        asked = {"action": "assignment.add", "resource": "lake.raw", "properties": {"role": "viewer", "to": vic}}
        acme.add("max")
        acme.give("max", "manager", "lake.raw")

        assert names(acme.call("owner", "POST", "/questions/who", asked)) == ["max", "owner"]

    def test_a_list_of_allowed_resources_omits_hidden_ones(self, acme: OrganizationClient) -> None:
        asked = {"action": "database.describe"}

        assert names(acme.call("ed", "POST", "/questions/which", asked)) == ["lake.raw"]
        assert names(acme.call("owner", "POST", "/questions/which", {**asked, "subject": "ed"})) == ["lake.raw"]
        assert acme.call("ed", "POST", "/questions/which", {**asked, "subject": "owner"}).status_code == 403
        assert names(acme.call("ed", "POST", "/questions/which", {**asked, "properties": {"name": "x"}})) == [
            "lake.raw"
        ]


class TestWhatIf:
    def test_a_simulation_reports_gains_and_losses_and_writes_nothing(self, acme: OrganizationClient) -> None:
        before = acme.control.snapshot.revision
        steps = [
            {"assign": {"subject": "vic", "role": "viewer", "resource": "lake.raw"}},
            {"revoke": {"subject": "ed", "role": "editor", "resource": "lake.raw"}},
        ]

        answer = acme.call("owner", "POST", "/questions/what-if", {"steps": steps}).json()

        found = {(each["name"], bool(each["gained"]), bool(each["lost"])) for each in answer["items"]}
        assert found >= {("vic", True, False), ("ed", False, True)}
        assert acme.control.snapshot.revision == before

    def test_a_simulation_of_several_steps_needs_the_privilege_to_ask(self, acme: OrganizationClient) -> None:
        steps = [
            {"create": {"type": "database", "parent": "lake", "name": "new"}},
            {"change": {"resource": "lake.raw", "name": "rough"}},
            {"delete": "lake.secret"},
        ]

        assert acme.call("owner", "POST", "/questions/what-if", {"steps": steps}).status_code == 200
        assert acme.call("ed", "POST", "/questions/what-if", {"steps": steps}).status_code == 403

    @pytest.mark.parametrize(
        ("steps", "words"),
        [
            ([], "does not match the schema"),
            ([{}], "a step is empty; set one of assign, revoke, create, change, delete in it"),
            (
                [{"delete": "lake.raw", "revoke": {"subject": "ed", "role": "editor", "resource": "lake.raw"}}],
                "a step has `revoke` and `delete`; split it",
            ),
            ([{"assign": {"subject": "vic", "role": "king", "resource": "lake.raw"}}], "king"),
            ([{"fly": 1}], "does not match the schema"),
        ],
    )
    def test_a_simulation_with_an_invalid_step_is_refused(
        self, acme: OrganizationClient, steps: list[Any], words: str
    ) -> None:
        answer = acme.call("owner", "POST", "/questions/what-if", {"steps": steps})

        assert answer.status_code == 422
        assert words in answer.json()["detail"]
