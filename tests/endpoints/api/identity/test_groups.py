import pytest

from tests.app.deployment_harness import OrganizationClient
from tests.endpoints.conftest import Make

WITH_GROUPS = ("nekt", "y42", "onehouse")


def crew(acme: OrganizationClient) -> str:
    """Create the group `crew` and return its id."""
    made = acme.call("owner", "POST", "/groups", {"name": "crew"})
    assert made.status_code == 201, made.text
    return made.json()["id"]


@pytest.mark.parametrize("model", WITH_GROUPS)
class TestUnderEveryModelThatHasThem:
    def test_a_group_is_created_gets_members_and_is_deleted(self, make: Make, model: str) -> None:
        acme = make(model)
        acme.add("vic")
        id = crew(acme)

        assert acme.call("owner", "PUT", "/groups/crew/members/vic").status_code == 200
        members = acme.call("owner", "GET", f"/groups/{id}/members").json()["items"]
        assert [each["name"] for each in members] == ["vic"]
        assert acme.call("vic", "GET", "/me").json()["groups"] == ["All", "crew"]
        assert acme.call("owner", "DELETE", "/groups/crew/members/vic").status_code == 200
        assert acme.call("owner", "DELETE", "/groups/crew").status_code == 200
        assert acme.call("owner", "GET", "/groups/crew").status_code == 404

    def test_a_dry_run_of_adding_a_member_reports_the_change_and_writes_nothing(self, make: Make, model: str) -> None:
        acme = make(model)
        acme.add("vic")
        id = crew(acme)
        before = acme.control.snapshot

        foreseen = acme.call("owner", "PUT", "/groups/crew/members/vic", dry_run=True).json()

        assert foreseen["changes"][0]["group"] == id
        assert foreseen["needed"][0]["action"] == "group.add_member"
        assert acme.control.snapshot is before


class TestAGroup:
    def test_a_group_is_hidden_from_a_member_without_privileges_on_it(self, make: Make) -> None:
        acme = make()
        acme.add("adi", "admin")
        acme.add("sam")
        crew(acme)
        acme.call("owner", "PUT", "/groups/crew/members/sam")

        assert acme.call("adi", "GET", "/groups/crew").json()["members"] == 1
        hidden, missing = (acme.call("sam", "GET", f"/groups/{name}") for name in ("crew", "nosuch"))
        assert hidden.status_code == missing.status_code == 404
        assert hidden.text.replace("crew", "X") == missing.text.replace("nosuch", "X")
        assert acme.call("sam", "GET", "/groups").json()["items"] == []

    def test_a_group_can_be_renamed_to_a_free_name(self, make: Make) -> None:
        acme = make()
        crew(acme)

        assert acme.call("owner", "PATCH", "/groups/crew", {"name": "Crew"}).status_code == 200
        assert acme.call("owner", "PATCH", "/groups/crew", {"name": "OWNER"}).status_code == 409
        assert acme.call("owner", "PATCH", "/groups/crew", {"name": "team one"}).status_code == 200
        assert acme.call("owner", "GET", "/groups/team one").status_code == 200

    def test_the_group_of_all_users_can_be_neither_deleted_nor_recreated(self, make: Make) -> None:
        acme = make()

        assert acme.call("owner", "DELETE", "/groups/All").status_code in (403, 422)
        assert acme.call("owner", "POST", "/groups", {"name": "all"}).status_code == 409

    def test_a_refused_membership_does_not_reveal_that_the_user_exists(self, make: Make) -> None:
        acme = make()
        acme.add("vic")
        crew(acme)
        acme.call("owner", "PUT", "/groups/crew/members/vic")

        assert acme.call("owner", "PUT", "/groups/crew/members/nobody").status_code == 404
        there, missing = (acme.call("vic", "PUT", f"/groups/crew/members/{name}") for name in ("owner", "nobody"))
        assert there.status_code == missing.status_code == 404
        assert there.text == missing.text
