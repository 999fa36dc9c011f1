from functools import partial

import httpx
import pytest

from headgate.control.access.assignments import AssignRole, RevokeRole
from headgate.control.identity.principals import RemovePrincipal
from headgate.control.kernel.errors import NotFoundError
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from tests.control.authentication.auth_services_harness import PASSWORD
from tests.endpoints.auth.auth_harness import ACME, World
from tests.threads import call_at_once

OWN = "a password of my own"


@pytest.fixture
def world() -> World:
    return World()


def invite(world: World, http: httpx.Client, role: str = "member") -> str:
    """Invite somebody as ann, and log her out again."""
    world.login(http)
    answer = http.post("/api/v1/invitations", json={"role": role})
    assert answer.status_code == 201, answer.text
    del http.headers["authorization"]
    return str(answer.json()["invitation"])


class TestAnInvitation:
    def test_makes_a_newcomer_a_user_and_a_member(self, world: World, http: httpx.Client) -> None:
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

    def test_makes_somebody_who_is_a_user_a_member(self, world: World, http: httpx.Client) -> None:
        secret = invite(world, http)
        ben = world.entrance.authentication.register("ben", password=PASSWORD)
        world.login(http, "ben")
        assert http.get("/api/v1/me").status_code == 401

        assert http.post(f"/api/v1/invitations/{secret}/accept").json()["principal"] == ben
        assert http.get("/api/v1/me").json()["principal"] == ben

    def test_is_good_once(self, world: World, http: httpx.Client) -> None:
        secret = invite(world, http)
        new = {"login": "zoe", "password": OWN}
        assert http.post(f"/api/v1/invitations/{secret}/accept", json=new).status_code == 201

        for answer in (
            http.get(f"/api/v1/invitations/{secret}/accept"),
            http.post(f"/api/v1/invitations/{secret}/accept", json={**new, "login": "yan"}),
        ):
            assert answer.status_code == 404
        assert {each.login for each in world.entrance.authentication.users()} == {"ann", "zoe"}

    def test_is_good_for_a_time(self, world: World, http: httpx.Client) -> None:
        secret = invite(world, http)
        world.now += world.settings.invitation

        assert http.get(f"/api/v1/invitations/{secret}/accept").status_code == 404
        world.entrance.tidy()
        assert not world.acme.store.documents("invitation")

    def test_registers_one_user_at_most(self, world: World, http: httpx.Client) -> None:
        secret = invite(world, http)

        def accept(number: int) -> int:
            new = {"login": f"zoe{number}", "password": OWN}
            return http.post(f"/api/v1/invitations/{secret}/accept", json=new).status_code

        statuses = call_at_once([partial(accept, number) for number in range(4)])

        assert sorted(statuses) == [201, 404, 404, 404]
        assert len(world.entrance.authentication.users()) == 2

    @pytest.mark.parametrize("secret", ["x", "hgi.i.x", "hgi..", "hgi.%00.x"])
    def test_is_known_by_its_secret_only(self, http: httpx.Client, secret: str) -> None:
        assert http.get(f"/api/v1/invitations/{secret}/accept").status_code == 404

    def test_needs_a_session_or_a_name(self, world: World, http: httpx.Client) -> None:
        secret = invite(world, http)
        assert http.post(f"/api/v1/invitations/{secret}/accept").status_code == 401

    def test_takes_no_name_that_is_taken(self, world: World, http: httpx.Client) -> None:
        secret = invite(world, http)
        answer = http.post(f"/api/v1/invitations/{secret}/accept", json={"login": "ANN", "password": OWN})

        assert answer.status_code == 409
        assert http.get(f"/api/v1/invitations/{secret}/accept").status_code == 200

    @pytest.mark.parametrize("login", ["ben@acme.com", "ben\uff20acme.com"])
    def test_lets_nobody_take_an_address_for_a_name(self, world: World, http: httpx.Client, login: str) -> None:
        """Or whoever adds the one whose address it is, adds somebody else."""
        secret = invite(world, http)
        answer = http.post(f"/api/v1/invitations/{secret}/accept", json={"login": login, "password": OWN})

        assert answer.status_code == 422
        assert len(world.entrance.authentication.users()) == 1

    def test_does_not_make_somebody_a_member_twice(self, world: World, http: httpx.Client) -> None:
        secret = invite(world, http)
        world.login(http)
        assert http.post(f"/api/v1/invitations/{secret}/accept").status_code == 409


class TestWhoInvited:
    def test_can_still_add_somebody_when_it_is_taken(self, world: World, http: httpx.Client) -> None:
        secret = invite(world, http)
        control = world.acme.control
        control.execute(AssignRole(world.member("ben"), "owner", ACME), None)
        control.execute(RevokeRole(world.ann, "owner", ACME), None)

        world.entrance.authentication.register("zoe", password=PASSWORD)
        world.login(http, "zoe")
        assert http.post(f"/api/v1/invitations/{secret}/accept").status_code == 404
        assert http.get("/api/v1/me").status_code == 401

    def test_is_still_there(self, world: World, http: httpx.Client) -> None:
        secret = invite(world, http)
        world.acme.control.execute(AssignRole(world.member("ben"), "owner", ACME), None)
        world.acme.control.execute(RemovePrincipal(world.ann), None)

        world.entrance.authentication.register("zoe", password=PASSWORD)
        world.login(http, "zoe")
        assert http.get(f"/api/v1/invitations/{secret}/accept").status_code == 404
        assert http.post(f"/api/v1/invitations/{secret}/accept").status_code == 404

    def test_is_still_there_before_a_user_is_registered(self, world: World, http: httpx.Client) -> None:
        secret = invite(world, http)
        world.acme.control.execute(AssignRole(world.member("ben"), "owner", ACME), None)
        world.acme.control.execute(RemovePrincipal(world.ann), None)
        before = world.entrance.authentication.users()

        new = {"login": "zoe", "password": OWN}
        assert http.post(f"/api/v1/invitations/{secret}/accept", json=new).status_code == 404

        assert world.entrance.authentication.users() == before

    def test_could_have_added_them(self, world: World, http: httpx.Client) -> None:
        world.member("ben")
        world.login(http, "ben")

        answer = http.post("/api/v1/invitations", json={"role": "owner"})
        assert answer.status_code == 403
        assert not world.acme.store.documents("invitation")


class TestTheList:
    def test_shows_ones_own_and_everybodys_to_who_manages_users(self, world: World, http: httpx.Client) -> None:
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

    def test_holds_nothing_for_who_may_not_see_it(self, world: World, http: httpx.Client) -> None:
        invite(world, http)
        (id,) = world.acme.store.documents("invitation")
        world.member("ben")
        world.login(http, "ben")

        there, nowhere = http.delete(f"/api/v1/invitations/{id}"), http.delete("/api/v1/invitations/nowhere")
        assert there.status_code == nowhere.status_code == 404
        assert there.json() == nowhere.json()


def test_a_place_is_where_users_come_into() -> None:
    """The organization, unless the model says otherwise; what is not there is missing."""
    world = World()
    ann = Caller(world.ann)
    command, _ = world.entrance.invitations.draft(world.acme, ann, "member", ResourceId("nowhere"))
    with pytest.raises(NotFoundError, match="nowhere"):
        world.acme.control.execute(command, ann)
    world.audit.close()
