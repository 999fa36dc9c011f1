import pytest

from headgate.control.approvals.requests import ApproveRequest, FileRequest, RejectRequest, open_requests
from headgate.control.kernel.errors import AlreadyExistsError, InvalidError, NotFoundError
from headgate.control.resources.commands import CreateResource, DeleteResource
from headgate.facts.caller import Caller
from headgate.facts.changes import RunStarted
from headgate.facts.ids import PrincipalId, RequestId, ResourceId, RunId
from tests.control.organization_harness import ANN, BEN, EVE, FOUNDER, PROJECT, World, edges, nekt, onehouse, role

R = RequestId("r")
FLIGHTS, SALARIES = ResourceId("flights"), ResourceId("salaries")


def filed(
    resource: ResourceId | None = SALARIES, action: str = "table.select", *, id: RequestId = R, purpose: str = "to know"
) -> FileRequest:
    return FileRequest(id, action, resource, "lake.secret.salaries", purpose)


def waiting(world: World) -> dict[PrincipalId, tuple[RequestId, ...]]:
    """Return the requests that wait for somebody."""
    return {
        who: found
        for who in (FOUNDER, ANN, BEN, EVE)
        if (found := tuple(open_requests(world.control.view(Caller(who)))))
    }


class TestAsking:
    @pytest.mark.parametrize("place", [SALARIES, None, FLIGHTS])
    def test_anybody_asks_for_any_name_and_hears_the_same(self, place: ResourceId | None) -> None:
        world = nekt()
        world.do(role(ANN, "viewer", "raw"))

        assert world.do(filed(place, "table.drop"), by=ANN).requests[R].state == "requested"

    def test_the_name_and_the_purpose_are_documents(self) -> None:
        world = nekt()

        world.do(filed(purpose="a private reason"), by=ANN)
        assert "private" not in repr(world.store.log)
        assert world.store.bodies["request", R] == {"name": "lake.secret.salaries", "purpose": "a private reason"}

    def test_it_is_for_a_purpose_and_for_what_one_may_not_do_already(self) -> None:
        nekt().refuse(filed(purpose=" "), InvalidError, "for a purpose", by=ANN)
        nekt().refuse(filed(), InvalidError, "already", by=FOUNDER)

    def test_a_person_asks_once_under_an_id(self) -> None:
        world = nekt()
        world.do(filed(), by=ANN)
        world.store.write(RunStarted(RunId("run"), FLIGHTS, ANN))
        world.reopen()

        world.refuse(filed(), AlreadyExistsError, by=BEN)
        world.refuse(filed(id=RequestId("other")), InvalidError)
        world.refuse(filed(id=RequestId("other")), InvalidError, by=Caller(ANN, run=RunId("run")))


class TestWhoIsAsked:
    def test_it_waits_for_whoever_could_make_the_smallest_assignment(self) -> None:
        world = nekt()
        world.do(role(BEN, "manager", "secret"))

        world.do(filed(), by=ANN)
        assert waiting(world) == {FOUNDER: (R,), BEN: (R,)}

    def test_for_what_is_not_there_it_waits_for_nobody(self) -> None:
        world = nekt()
        world.do(filed(None), by=ANN)
        world.do(filed(id=RequestId("other")), by=ANN)
        world.do(DeleteResource(SALARIES))

        assert waiting(world) == {}
        world.refuse(ApproveRequest(R), NotFoundError, by=FOUNDER)

    def test_to_everybody_else_it_is_as_missing(self) -> None:
        world = nekt()
        world.do(filed(), by=ANN)

        for id in (R, RequestId("gone")):
            for command in (ApproveRequest(id), RejectRequest(id)):
                world.refuse(command, NotFoundError, f"no request `{id}` that waits for you", by=EVE)


class TestDeciding:
    def test_approving_makes_that_assignment_with_the_request_as_its_reason(self) -> None:
        world = nekt()
        world.do(role(BEN, "manager", "secret"))
        world.do(filed(), by=ANN)

        facts = world.do(ApproveRequest(R, 5_000.0), by=BEN)
        given = facts.assignments[ANN][("viewer", SALARIES, R)]
        assert (given.grantor, given.ends) == (BEN, 5_000.0)
        assert facts.requests[R].state == "approved"
        assert world.may(ANN, "table.select", SALARIES)
        assert waiting(world) == {}

    def test_what_it_stands_on_is_assigned_first(self) -> None:
        world = onehouse()
        world.do(role(BEN, "MANAGE", "one"))
        world.do(filed(ResourceId("table")), by=EVE)
        assert waiting(world) == {}  # first somebody has to bring her into the project

        world.do(role(ANN, "admin", "project"))
        facts = world.do(ApproveRequest(R), by=ANN)
        assert facts.requests[R].state == "approved"
        assert world.roles(EVE, "project") == {"member"}

    def test_where_each_may_assign_a_part_it_waits_until_all_have(self) -> None:
        world = nekt()
        reads = {"inputs": edges("flights", "salaries")}
        world.do(CreateResource(ResourceId("copy"), "destination", PROJECT, "copy", reads))
        world.do(role(ANN, "manager", "raw"), role(BEN, "manager", "secret"))
        world.do(filed(ResourceId("copy"), "destination.describe"), by=EVE)

        assert world.do(ApproveRequest(R), by=ANN).requests[R].state == "requested"
        assert world.roles(EVE, "flights") == {"viewer"}
        world.refuse(ApproveRequest(R), NotFoundError, by=ANN)
        assert world.do(ApproveRequest(R), by=BEN).requests[R].state == "approved"

    def test_a_rejected_one_is_over(self) -> None:
        world = nekt()
        world.do(filed(), by=ANN)

        facts = world.do(RejectRequest(R), by=FOUNDER)
        assert facts.requests[R].state == "rejected"
        assert not world.may(ANN, "table.select", SALARIES)
        for command in (ApproveRequest(R), RejectRequest(R)):
            world.refuse(command, NotFoundError, by=FOUNDER)

    def test_its_end_is_to_come(self) -> None:
        world = nekt()
        world.do(filed(), by=ANN)

        world.refuse(ApproveRequest(R, 1_000.0), InvalidError, "ended already", by=FOUNDER)

    def test_the_deployment_approves_too(self) -> None:
        world = nekt()
        world.do(filed(), by=ANN)

        assert world.do(ApproveRequest(R)).requests[R].state == "approved"
