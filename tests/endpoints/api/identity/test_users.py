from typing import Any

import pytest

from tests.app.deployment_harness import DeploymentHarness, OrganizationClient
from tests.endpoints.conftest import Make

MODELS = ("nekt", "y42", "onehouse", "datamesh")


def users(place: OrganizationClient, who: str = "owner", **query: Any) -> list[str]:
    found = place.call(who, "GET", "/users", **query)
    assert found.status_code == 200, found.text
    return [each["name"] for each in found.json()["items"]]


class TestWhoIsHere:
    @pytest.mark.parametrize("model", MODELS)
    def test_an_owner_lists_all_users(self, make: Make, model: str) -> None:
        acme = make(model)
        acme.add("vic")

        assert users(acme) == ["owner", "vic"]

    @pytest.mark.parametrize("model", ["nekt", "onehouse", "datamesh"])
    def test_a_member_lists_only_themselves(self, make: Make, model: str) -> None:
        acme = make(model)
        acme.add("vic")
        acme.add("sam")

        assert users(acme, "vic") == ["vic"]
        hidden, missing = (acme.call("vic", "GET", f"/users/{name}") for name in ("sam", "nobody"))
        assert hidden.status_code == missing.status_code == 404
        assert hidden.text.replace("sam", "X") == missing.text.replace("nobody", "X")

    def test_the_user_list_can_be_searched_sorted_and_paged(self, make: Make) -> None:
        acme = make()
        for name in ("cat", "ann", "ben"):
            acme.add(name)

        first = acme.call("owner", "GET", "/users", limit=2, sort="-name").json()

        assert [each["name"] for each in first["items"]] == ["owner", "cat"]
        assert users(acme, cursor=first["next"], sort="-name") == ["ben", "ann"]
        assert users(acme, q="AN") == ["ann"]
        assert acme.call("owner", "GET", "/users", sort="secret").status_code == 422

    def test_the_user_list_as_of_a_past_revision_is_for_owners_only(self, make: Make) -> None:
        acme = make()
        before = acme.control.snapshot.revision
        acme.add("vic")

        assert users(acme, as_of=before) == ["owner"]
        assert acme.call("vic", "GET", "/users", as_of=before).status_code == 403

    def test_a_user_is_shown_by_id_or_name_with_their_roles(self, make: Make) -> None:
        acme = make()
        id = acme.add("vic")

        found = acme.call("owner", "GET", "/users/vic")

        assert found.json() == acme.call("vic", "GET", f"/users/{id}").json()
        assert found.json()["held"] == [
            {
                "role": "member",
                "resource": "organization",
                "resource_id": acme.opened.id,
                "starts": None,
                "ends": None,
                "reason": "",
            }
        ]
        assert found.headers["etag"] == f'"{found.json()["version"]}"'


class TestAdding:
    @pytest.mark.parametrize("model", MODELS)
    def test_an_added_user_is_registered_in_the_deployment_too(
        self, world: DeploymentHarness, make: Make, model: str
    ) -> None:
        acme = make(model)

        added = acme.call("owner", "POST", "/users", {"name": "vic", "role": "member"})

        assert added.status_code == 201, added.text
        assert users(acme) == ["owner", "vic"]
        assert world.deployment.auth_services.authentication.user(added.json()["id"]) is not None

    def test_a_user_without_a_named_role_gets_the_role_of_the_model_for_newcomers(self, make: Make) -> None:
        here, there = make("onehouse"), make("y42")

        assert here.call("owner", "POST", "/users", {"name": "vic"}).status_code == 201
        assert [each["roles"] for each in here.call("owner", "GET", "/users").json()["items"]] == [
            ["admin"],
            ["member"],
        ]
        refused = there.call("owner", "POST", "/users", {"name": "vic"})
        assert (refused.status_code, "`y42` has no role for newcomers; name the role" in refused.text) == (422, True)

    @pytest.mark.parametrize("field", ["login", "email"])
    @pytest.mark.parametrize("query", [{}, {"dry_run": True}])
    def test_a_user_of_the_deployment_is_neither_added_nor_looked_up(
        self, world: DeploymentHarness, make: Make, field: str, query: dict[str, bool]
    ) -> None:
        acme, logins = make(), world.deployment.auth_services.authentication
        mine = f"pat-{field}-{len(query)}@acme.com"
        pat = logins.register("Pat", login=mine, email=mine, verified=True)

        taken, free = (
            acme.call("owner", "POST", "/users", {"name": "pat", field: value}, **query)
            for value in (mine, "sam@acme.com")
        )

        assert taken.status_code == free.status_code == 422
        assert taken.json()["detail"] == free.json()["detail"]
        assert users(acme) == ["owner"]
        assert world.deployment.organizations.of(pat) == ()

    def test_an_added_user_has_no_login_name_and_no_email_address(self, world: DeploymentHarness, make: Make) -> None:
        acme = make()

        id = acme.call("owner", "POST", "/users", {"name": "kim@example.com"}).json()["id"]

        user = world.deployment.auth_services.authentication.user(id)
        assert user is not None
        assert (user.login, user.email) == (None, None)
        assert not world.deployment.auth_services.authentication.addresses.is_like_another("kim@example.com")

    def test_a_dry_run_of_adding_a_user_writes_nothing(self, world: DeploymentHarness, make: Make) -> None:
        acme = make()
        before = (acme.control.snapshot, world.deployment.organizations.deployment.control.snapshot)

        answer = acme.call("owner", "POST", "/users", {"name": "vic"}, dry_run=True)

        assert answer.status_code == 200
        assert [each["change"] for each in answer.json()["changes"]] == ["PrincipalAdded", "RoleAssigned"]
        assert before == (acme.control.snapshot, world.deployment.organizations.deployment.control.snapshot)

    def test_a_member_cannot_add_users_and_no_user_is_registered(self, world: DeploymentHarness, make: Make) -> None:
        acme = make()
        acme.add("vic")
        before = world.deployment.organizations.deployment.control.snapshot

        assert acme.call("vic", "POST", "/users", {"name": "sam"}).status_code == 403
        assert acme.call("vic", "POST", "/users", {"name": "owner"}).status_code == 403
        assert world.deployment.organizations.deployment.control.snapshot is before

    def test_a_user_name_that_is_taken_or_invalid_is_refused(self, make: Make) -> None:
        acme = make()
        acme.add("vic")

        assert acme.call("owner", "POST", "/users", {"name": "VIC"}).status_code == 409
        for name in ("a/b", "", "x" * 300, "a\nb", " a", None):
            assert acme.call("owner", "POST", "/users", {"name": name}).status_code == 422

    def test_a_repeated_request_adds_one_user(self, make: Make) -> None:
        acme = make()

        first, again = (
            acme.send("owner", "POST", "/users", {"name": "vic"}, {"idempotency-key": "k"}) for _ in range(2)
        )

        assert first.json() == again.json()
        assert users(acme) == ["owner", "vic"]

    def test_a_user_can_be_added_to_a_project_under_a_model_with_project_members(self, make: Make) -> None:
        acme = make("onehouse")
        acme.call("owner", "POST", "/projects", {"name": "one"})

        assert acme.call("owner", "POST", "/users", {"name": "sam", "place": "one"}).status_code == 201

        held = acme.call("owner", "GET", "/users/sam").json()["held"]
        assert [(each["role"], each["resource"]) for each in held] == [("member", "one")]


class TestRemoving:
    @pytest.mark.parametrize("model", MODELS)
    def test_a_removed_user_is_unauthorized_and_not_listed(self, make: Make, model: str) -> None:
        acme = make(model)
        acme.add("vic")

        gone = acme.call("owner", "DELETE", "/users/vic")

        assert gone.status_code == 200, gone.text
        assert acme.call("vic", "GET", "/me").status_code == 401
        assert users(acme) == ["owner"]

    def test_removing_a_user_needs_user_management_and_leaves_an_owner(self, make: Make) -> None:
        acme = make()
        acme.add("vic")
        acme.add("sam")

        assert acme.call("vic", "DELETE", "/users/sam").status_code == 404
        assert acme.call("vic", "DELETE", "/users/vic").status_code == 403
        assert acme.call("owner", "DELETE", "/users/owner").status_code == 422

    def test_removing_a_user_with_an_outdated_version_is_refused(self, make: Make) -> None:
        acme = make()
        acme.add("vic")
        version = acme.call("owner", "GET", "/users/vic").headers["etag"]

        assert acme.send("owner", "DELETE", "/users/vic", None, {"if-match": '"other"'}).status_code == 412
        assert acme.send("owner", "DELETE", "/users/vic", None, {"if-match": version}).status_code == 200


class TestMe:
    @pytest.mark.parametrize("model", MODELS)
    def test_the_me_endpoint_shows_the_caller_with_organization_and_roles(self, make: Make, model: str) -> None:
        acme = make(model)
        vic = acme.add("vic")

        me = acme.call("vic", "GET", "/me").json()

        assert (me["name"], me["principal"], me["kind"]) == ("vic", vic, "user")
        assert me["organization"]["id"] == acme.opened.id
        assert [each["role"] for each in me["roles"]] == ["member"]
        assert me["break_glass"] is None


def test_an_invitation_ends_with_the_removal_of_its_inviter_even_if_that_user_returns(make: Make) -> None:
    acme = make("nekt")
    secret = acme.call("owner", "POST", "/invitations", {"role": "admin"}).json()["invitation"]
    login = {"login": "ivan", "password": "a-very-long-password-1"}
    joined = acme.http.post(f"/api/v1/invitations/{secret}/accept", json=login).json()
    acme.tokens["ivan"] = joined["login"]["session"]
    made = acme.call("ivan", "POST", "/invitations", {"role": "admin"}).json()["invitation"]
    assert acme.http.get(f"/api/v1/invitations/{made}/accept").status_code == 200

    acme.call("owner", "DELETE", f"/users/{joined['principal']}").raise_for_status()
    again = acme.call("owner", "POST", "/invitations", {"role": "admin"}).json()["invitation"]
    session = {"authorization": f"Bearer {acme.tokens['ivan']}"}
    acme.http.post(f"/api/v1/invitations/{again}/accept", headers=session).raise_for_status()

    assert acme.call("ivan", "GET", "/invitations").status_code == 200
    assert acme.http.get(f"/api/v1/invitations/{made}/accept").status_code == 404
