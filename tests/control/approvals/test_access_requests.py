import pytest

from headgate.control.approvals import access_requests
from headgate.control.approvals.access_requests import ApproveRequest, FileRequest, RejectRequest, open_requests
from headgate.control.identity.principals import AddPrincipal, RemovePrincipal
from headgate.control.kernel.errors import AlreadyExistsError, InvalidError, NotFoundError
from headgate.control.resources.commands import CreateResource, DeleteResource
from headgate.facts.caller import Caller
from headgate.facts.changes import RunStarted
from headgate.facts.ids import PrincipalId, RequestId, ResourceId, RunId
from tests.control.organization_harness import (
    ANN,
    BEN,
    EVE,
    FOUNDER,
    PROJECT,
    OrganizationHarness,
    edges,
    nekt,
    onehouse,
    role,
)

R = RequestId("r")
FLIGHTS, SALARIES = ResourceId("flights"), ResourceId("salaries")


def filed(
    resource: ResourceId | None = SALARIES, action: str = "table.select", *, id: RequestId = R, purpose: str = "to know"
) -> FileRequest:
    return FileRequest(id, action, resource, "lake.secret.salaries", purpose)


def waiting(world: OrganizationHarness) -> dict[PrincipalId, tuple[RequestId, ...]]:
    """Return the requests that wait for approval."""
    return {
        who: found
        for who in (FOUNDER, ANN, BEN, EVE)
        if (found := tuple(open_requests(world.control.view(Caller(who)))))
    }


def test_a_waiting_request_is_rejected_with_the_removal_of_its_author_even_if_the_user_returns() -> None:
    world = nekt()
    world.do(filed(), by=ANN)
    assert waiting(world)

    facts = world.do(RemovePrincipal(ANN), AddPrincipal(ANN, "ann", "member"))

    assert facts.requests[R].state == "rejected"
    assert not waiting(world)


class TestAsking:
    @pytest.mark.parametrize("place", [SALARIES, None, FLIGHTS])
    def test_a_user_requests_access_to_any_name_and_gets_the_same_answer(self, place: ResourceId | None) -> None:
        world = nekt()
        world.do(role(ANN, "viewer", "raw"))

        assert world.do(filed(place, "table.drop"), by=ANN).requests[R].state == "requested"

    def test_the_name_and_the_purpose_are_stored_in_a_document_and_not_in_the_log(self) -> None:
        world = nekt()

        world.do(filed(purpose="a private reason"), by=ANN)
        assert "private" not in repr(world.store.log)
        assert world.store.bodies["request", R] == {"name": "lake.secret.salaries", "purpose": "a private reason"}

    def test_a_request_without_a_purpose_or_for_an_allowed_action_is_refused(self) -> None:
        nekt().refuse(filed(purpose=" "), InvalidError, "the purpose of the access request is empty", by=ANN)
        nekt().refuse(filed(), InvalidError, "already", by=FOUNDER)

    def test_a_request_for_an_unknown_action_is_refused_with_the_most_similar_action(self) -> None:
        nekt().refuse(filed(action="table.selct"), InvalidError, "did you mean `table.select`", by=ANN)

    def test_an_author_has_a_limited_number_of_open_requests_and_may_withdraw_one(self) -> None:
        world = nekt()
        for number in range(100):
            world.do(filed(id=RequestId(f"r{number}")), by=ANN)

        world.refuse(filed(), InvalidError, "you have 100 open access requests", by=ANN)
        world.do(filed(id=RequestId("of_ben")), by=BEN)
        world.do(RejectRequest(RequestId("r7")), by=ANN)

        assert world.do(filed(), by=ANN).requests[R].state == "requested"

    def test_equal_requests_are_looked_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        world, asked = nekt(), list[str]()
        for number in range(5):
            world.do(filed(id=RequestId(f"r{number}")), by=ANN)
        find = access_requests.smallest_fixes
        monkeypatch.setattr(access_requests, "smallest_fixes", lambda *all: asked.append("") or find(*all))

        assert len(waiting(world)[FOUNDER]) == 5
        assert len(asked) == 4  # for each user that `waiting` asks

    def test_a_request_needs_a_new_id_and_a_user_as_its_author(self) -> None:
        world = nekt()
        world.do(filed(), by=ANN)
        world.store.write(RunStarted(RunId("run"), FLIGHTS, ANN))
        world.reopen()

        world.refuse(filed(), AlreadyExistsError, by=BEN)
        world.refuse(filed(id=RequestId("other")), InvalidError)
        world.refuse(filed(id=RequestId("other")), InvalidError, by=Caller(ANN, run=RunId("run")))


class TestWhoIsAsked:
    def test_a_request_waits_for_users_that_could_make_the_smallest_assignment(self) -> None:
        world = nekt()
        world.do(role(BEN, "manager", "secret"))

        world.do(filed(), by=ANN)
        assert waiting(world) == {FOUNDER: (R,), BEN: (R,)}

    def test_a_request_for_a_missing_resource_waits_for_no_user(self) -> None:
        world = nekt()
        world.do(filed(None), by=ANN)
        world.do(filed(id=RequestId("other")), by=ANN)
        world.do(DeleteResource(SALARIES))

        assert waiting(world) == {}
        world.refuse(ApproveRequest(R), NotFoundError, by=FOUNDER)

    def test_a_request_is_not_found_for_users_that_it_does_not_wait_for(self) -> None:
        world = nekt()
        world.do(filed(), by=ANN)

        for id in (R, RequestId("gone")):
            for command in (ApproveRequest(id), RejectRequest(id)):
                world.refuse(command, NotFoundError, f"no open request `{id}` that you may approve or reject", by=EVE)


class TestDeciding:
    def test_approving_a_request_assigns_the_role_with_the_request_as_reason(self) -> None:
        world = nekt()
        world.do(role(BEN, "manager", "secret"))
        world.do(filed(), by=ANN)

        facts = world.do(ApproveRequest(R, 5_000.0), by=BEN)
        given = facts.assignments[ANN][("viewer", SALARIES, R)]
        assert (given.grantor, given.ends) == (BEN, 5_000.0)
        assert facts.requests[R].state == "approved"
        assert world.may(ANN, "table.select", SALARIES)
        assert waiting(world) == {}

    def test_a_role_that_the_requested_one_depends_on_is_assigned_first(self) -> None:
        world = onehouse()
        world.do(role(BEN, "MANAGE", "one"))
        world.do(filed(ResourceId("table")), by=EVE)
        assert waiting(world) == {}  # first a manager has to add her to the project

        world.do(role(ANN, "admin", "project"))
        facts = world.do(ApproveRequest(R), by=ANN)
        assert facts.requests[R].state == "approved"
        assert world.roles(EVE, "project") == {"member"}

    def test_a_request_that_needs_several_approvers_waits_until_all_approve(self) -> None:
        world = nekt()
        reads = {"inputs": edges("flights", "salaries")}
        world.do(CreateResource(ResourceId("copy"), "destination", PROJECT, "copy", reads))
        world.do(role(ANN, "manager", "raw"), role(BEN, "manager", "secret"))
        world.do(filed(ResourceId("copy"), "destination.describe"), by=EVE)

        assert world.do(ApproveRequest(R), by=ANN).requests[R].state == "requested"
        assert world.roles(EVE, "flights") == {"viewer"}
        world.refuse(ApproveRequest(R), NotFoundError, by=ANN)
        assert world.do(ApproveRequest(R), by=BEN).requests[R].state == "approved"

    def test_a_rejected_request_cannot_be_decided_again(self) -> None:
        world = nekt()
        world.do(filed(), by=ANN)

        facts = world.do(RejectRequest(R), by=FOUNDER)
        assert facts.requests[R].state == "rejected"
        assert not world.may(ANN, "table.select", SALARIES)
        for command in (ApproveRequest(R), RejectRequest(R)):
            world.refuse(command, NotFoundError, by=FOUNDER)

    def test_an_approval_with_an_end_in_the_past_is_refused(self) -> None:
        world = nekt()
        world.do(filed(), by=ANN)

        world.refuse(ApproveRequest(R, 1_000.0), InvalidError, "in the past", by=FOUNDER)

    def test_the_deployment_may_approve_a_request(self) -> None:
        world = nekt()
        world.do(filed(), by=ANN)

        assert world.do(ApproveRequest(R)).requests[R].state == "approved"
