from tests.app.deployment_harness import OrganizationClient
from tests.endpoints.conftest import Make


def names(place: OrganizationClient, who: str, path: str) -> list[str]:
    found = place.call(who, "GET", path)
    assert found.status_code == 200, found.text
    return [each["name"] for each in found.json()["items"]]


def mesh(make: Make) -> OrganizationClient:
    """The domain `sales` with the team `shop`, whose owner is tom; vic is a member of the organization."""
    acme = make("datamesh")
    acme.add("tom")
    acme.add("vic")
    assert acme.call("owner", "POST", "/domains", {"name": "sales"}).status_code == 201
    assert acme.call("owner", "POST", "/teams", {"name": "shop", "parent": "sales"}).status_code == 201
    assert acme.call("owner", "PUT", "/teams/sales.shop/members/tom", {"role": "owner"}).status_code == 200
    return acme


class TestTheTree:
    def test_a_team_in_a_domain_is_created_listed_and_shown(self, make: Make) -> None:
        acme = mesh(make)

        assert names(acme, "vic", "/domains") == ["sales"]
        assert names(acme, "vic", "/teams?parent=sales") == ["sales.shop"]
        shop = acme.call("vic", "GET", "/teams/sales.shop").json()
        assert acme.call("vic", "GET", f"/teams/{shop['id']}").json() == shop
        assert acme.call("vic", "GET", "/domains/sales.shop").status_code == 404

    def test_a_team_can_be_renamed_and_moved(self, make: Make) -> None:
        acme = mesh(make)
        acme.call("owner", "POST", "/domains", {"name": "ops"})

        assert acme.call("owner", "PATCH", "/teams/sales.shop", {"name": "store"}).status_code == 200
        assert acme.call("owner", "PATCH", "/teams/sales.store", {"parent": "ops"}).status_code == 200
        assert acme.call("owner", "PATCH", "/teams/ops.store", {}).status_code == 422
        assert names(acme, "vic", "/teams") == ["ops.store"]

    def test_a_team_change_with_an_outdated_version_is_refused(self, make: Make) -> None:
        acme = mesh(make)
        version = acme.call("owner", "GET", "/teams/sales.shop").headers["etag"]

        first, second = (
            acme.send("owner", "PATCH", "/teams/sales.shop", {"name": "shop2"}, {"if-match": version}),
            acme.send("owner", "PATCH", "/teams/sales.shop2", {"name": "shop3"}, {"if-match": version}),
        )

        assert (first.status_code, second.status_code) == (200, 412)

    def test_a_refused_team_change_names_the_missing_privilege(self, make: Make) -> None:
        acme = mesh(make)

        assert acme.call("vic", "POST", "/teams", {"name": "web", "parent": "sales"}).status_code == 403
        refused = acme.call("vic", "DELETE", "/domains/sales")
        assert refused.status_code == 403
        assert "TEAM_DELETE" in refused.json()["detail"]
        assert acme.call("owner", "DELETE", "/domains/sales").status_code == 200
        assert names(acme, "vic", "/teams") == []

    def test_teams_do_not_exist_under_a_model_without_them(self, make: Make) -> None:
        acme = make("nekt")

        assert acme.call("owner", "POST", "/teams", {"name": "web"}).status_code == 422
        assert names(acme, "owner", "/teams") == []

    def test_a_team_tree_is_available_beside_another_home_model(self, make: Make) -> None:
        acme = make("onehouse", tree="datamesh")

        assert acme.call("owner", "GET", "/teams").status_code == 200


class TestMembers:
    def test_a_team_owner_adds_changes_and_removes_members(self, make: Make) -> None:
        acme = mesh(make)
        members = "/teams/sales.shop/members"

        assert acme.call("tom", "PUT", f"{members}/vic", {"role": "editor"}).status_code == 200
        assert acme.call("tom", "PUT", f"{members}/vic", {"role": "approver"}).status_code == 200
        found = acme.call("vic", "GET", members).json()["items"]
        assert [(each["name"], each["role"]) for each in found] == [("tom", "owner"), ("vic", "approver")]
        assert acme.call("vic", "GET", "/me").json()["teams"] == ["sales.shop"]
        assert acme.call("tom", "DELETE", f"{members}/vic").status_code == 200
        assert names(acme, "vic", members) == ["tom"]

    def test_a_refused_membership_does_not_reveal_that_the_user_exists(self, make: Make) -> None:
        acme = mesh(make)
        acme.add("sam")
        members = "/teams/sales.shop/members"

        there, missing = (
            acme.call("vic", "PUT", f"{members}/{name}", {"role": "editor"}) for name in ("sam", "nobody")
        )

        assert there.status_code == missing.status_code == 403
        assert there.text == missing.text
        assert acme.call("tom", "PUT", f"{members}/nobody", {"role": "editor"}).status_code == 404
        assert acme.call("tom", "DELETE", f"{members}/sam").status_code == 404
