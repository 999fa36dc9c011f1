from functools import partial

import httpx
import pytest

from headgate.control.access.assignments import AssignRole, RevokeRole
from headgate.control.identity.principals import RemovePrincipal
from headgate.control.kernel.errors import NotFoundError
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from tests.control.authentication.auth_services_harness import PASSWORD
from tests.endpoints.auth.auth_harness import ACME, AuthHarness
from tests.threads import call_at_once

OWN = "a password of my own"


@pytest.fixture
def world() -> AuthHarness:
    return AuthHarness()


def invite(world: AuthHarness, http: httpx.Client, role: str = "member") -> str:
    """Create an invitation as ann, and log her out."""
    world.login(http)
    answer = http.post("/api/v1/invitations", json={"role": role})
    assert answer.status_code == 201, answer.text
    del http.headers["authorization"]
    return str(answer.json()["invitation"])


class TestAnInvitation:
    def test_an_invitation_makes_a_newcomer_a_user_and_a_member(self, world: AuthHarness, http: httpx.Client) -> None:
        secret = invite(world, http)
        shown = http.get(f"/api/v1/invitations/{secret}/accept").json()
        assert (shown["organization"], shown["role"], shown["by"]) == (ACME, "member", world.ann)

        new = {"login": "zoe", "password": OWN}
        answer = http.post(f"/api/v1/invitations/{secret}/accept", json=new)
        assert answer.status_code == 201, answer.text
        session = answer.json()["login"]["session"]
        me = http.get("/api/v1/me", headers={"authorization": f"Bearer {session}"})
        assert me.json()["principal"] == answer.json()["principal"]
        (given,) = world.acme.control.snapshot.assignments[me.json()["principal"]].values()
        assert (given.role, given.grantor) == ("member", world.ann)

    def test_an_invitation_makes_an_existing_user_a_member(self, world: AuthHarness, http: httpx.Client) -> None:
        secret = invite(world, http)
        ben = world.auth_services.authentication.register("ben", password=PASSWORD)
        world.login(http, "ben")
        assert http.get("/api/v1/me").status_code == 401

        assert http.post(f"/api/v1/invitations/{secret}/accept").json()["principal"] == ben
        assert http.get("/api/v1/me").json()["principal"] == ben

    def test_an_invitation_can_be_accepted_once(self, world: AuthHarness, http: httpx.Client) -> None:
        secret = invite(world, http)
        new = {"login": "zoe", "password": OWN}
        assert http.post(f"/api/v1/invitations/{secret}/accept", json=new).status_code == 201

        for answer in (
            http.get(f"/api/v1/invitations/{secret}/accept"),
            http.post(f"/api/v1/invitations/{secret}/accept", json={**new, "login": "yan"}),
        ):
            assert answer.status_code == 404
        assert {each.login for each in world.auth_services.authentication.users()} == {"ann", "zoe"}

    def test_an_invitation_expires(self, world: AuthHarness, http: httpx.Client) -> None:
        secret = invite(world, http)
        world.now += world.settings.invitation

        assert http.get(f"/api/v1/invitations/{secret}/accept").status_code == 404
        world.auth_services.tidy()
        assert not world.acme.store.documents("invitation")

    def test_concurrent_acceptances_of_an_invitation_register_one_user(
        self, world: AuthHarness, http: httpx.Client
    ) -> None:
        secret = invite(world, http)

        def accept(number: int) -> int:
            new = {"login": f"zoe{number}", "password": OWN}
            return http.post(f"/api/v1/invitations/{secret}/accept", json=new).status_code

        statuses = call_at_once([partial(accept, number) for number in range(4)])

        assert sorted(statuses) == [201, 404, 404, 404]
        assert len(world.auth_services.authentication.users()) == 2

    @pytest.mark.parametrize("secret", ["x", "hgi.i.x", "hgi..", "hgi.%00.x"])
    def test_an_invitation_with_an_invalid_secret_is_missing(self, http: httpx.Client, secret: str) -> None:
        assert http.get(f"/api/v1/invitations/{secret}/accept").status_code == 404

    def test_accepting_an_invitation_needs_a_session_or_a_login_name(
        self, world: AuthHarness, http: httpx.Client
    ) -> None:
        secret = invite(world, http)
        assert http.post(f"/api/v1/invitations/{secret}/accept").status_code == 401

    def test_accepting_an_invitation_with_a_taken_login_name_is_a_conflict(
        self, world: AuthHarness, http: httpx.Client
    ) -> None:
        secret = invite(world, http)
        answer = http.post(f"/api/v1/invitations/{secret}/accept", json={"login": "ANN", "password": OWN})

        assert answer.status_code == 409
        assert http.get(f"/api/v1/invitations/{secret}/accept").status_code == 200

    @pytest.mark.parametrize("login", ["ben@acme.com", "ben\uff20acme.com"])
    def test_a_newcomer_cannot_use_an_email_address_as_login_name(
        self, world: AuthHarness, http: httpx.Client, login: str
    ) -> None:
        """Otherwise an administrator who adds the owner of that address would add the newcomer."""
        secret = invite(world, http)
        answer = http.post(f"/api/v1/invitations/{secret}/accept", json={"login": login, "password": OWN})

        assert answer.status_code == 422
        assert len(world.auth_services.authentication.users()) == 1

    def test_a_member_cannot_accept_an_invitation(self, world: AuthHarness, http: httpx.Client) -> None:
        secret = invite(world, http)
        world.login(http)
        assert http.post(f"/api/v1/invitations/{secret}/accept").status_code == 409


class TestWhoInvited:
    def test_an_invitation_is_void_once_its_inviter_may_no_longer_add_users(
        self, world: AuthHarness, http: httpx.Client
    ) -> None:
        secret = invite(world, http)
        control = world.acme.control
        control.execute(AssignRole(world.member("ben"), "owner", ACME), None)
        control.execute(RevokeRole(world.ann, "owner", ACME), None)

        world.auth_services.authentication.register("zoe", password=PASSWORD)
        world.login(http, "zoe")
        assert http.post(f"/api/v1/invitations/{secret}/accept").status_code == 404
        assert http.get("/api/v1/me").status_code == 401

    def test_an_invitation_is_void_once_its_inviter_is_removed(self, world: AuthHarness, http: httpx.Client) -> None:
        secret = invite(world, http)
        world.acme.control.execute(AssignRole(world.member("ben"), "owner", ACME), None)
        world.acme.control.execute(RemovePrincipal(world.ann), None)

        world.auth_services.authentication.register("zoe", password=PASSWORD)
        world.login(http, "zoe")
        assert http.get(f"/api/v1/invitations/{secret}/accept").status_code == 404
        assert http.post(f"/api/v1/invitations/{secret}/accept").status_code == 404

    def test_an_invitation_of_a_removed_inviter_registers_no_user(self, world: AuthHarness, http: httpx.Client) -> None:
        secret = invite(world, http)
        world.acme.control.execute(AssignRole(world.member("ben"), "owner", ACME), None)
        world.acme.control.execute(RemovePrincipal(world.ann), None)
        before = world.auth_services.authentication.users()

        new = {"login": "zoe", "password": OWN}
        assert http.post(f"/api/v1/invitations/{secret}/accept", json=new).status_code == 404

        assert world.auth_services.authentication.users() == before

    def test_an_inviter_cannot_offer_a_role_that_they_may_not_assign(
        self, world: AuthHarness, http: httpx.Client
    ) -> None:
        world.member("ben")
        world.login(http, "ben")

        answer = http.post("/api/v1/invitations", json={"role": "owner"})
        assert answer.status_code == 403
        assert not world.acme.store.documents("invitation")


class TestTheList:
    def test_invitations_are_listed_to_a_user_manager_only_and_without_secrets(
        self, world: AuthHarness, http: httpx.Client
    ) -> None:
        secret = invite(world, http)
        world.member("ben")

        assert secret not in http.get("/api/v1/invitations").text
        world.login(http, "ben")
        assert http.get("/api/v1/invitations").json()["items"] == []
        world.login(http)
        (shown,) = http.get("/api/v1/invitations").json()["items"]
        assert shown["role"] == "member"
        assert http.delete(f"/api/v1/invitations/{shown['id']}").status_code == 200
        assert http.get(f"/api/v1/invitations/{secret}/accept").status_code == 404

    def test_a_hidden_invitation_is_answered_like_a_missing_one(self, world: AuthHarness, http: httpx.Client) -> None:
        invite(world, http)
        (id,) = world.acme.store.documents("invitation")
        world.member("ben")
        world.login(http, "ben")

        there, nowhere = http.delete(f"/api/v1/invitations/{id}"), http.delete("/api/v1/invitations/nowhere")
        assert there.status_code == nowhere.status_code == 404
        assert there.json() == nowhere.json()


def test_an_invitation_into_a_missing_resource_is_refused() -> None:
    """The resource is the organization, unless the model has another; a missing one is reported as missing."""
    world = AuthHarness()
    ann = Caller(world.ann)
    command, _ = world.auth_services.invitations.draft(world.acme, ann, "member", ResourceId("nowhere"))
    with pytest.raises(NotFoundError, match="nowhere"):
        world.acme.control.execute(command, ann)
    world.audit.close()
