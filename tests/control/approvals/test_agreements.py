import pytest

from headgate.control.access.assignments import AssignRole
from headgate.control.access.switches import ChangeSetting
from headgate.control.approvals.agreements import (
    AddAccess,
    ApproveAccess,
    DeleteAccess,
    EditAccess,
    RejectAccess,
    TerminateAccess,
)
from headgate.control.approvals.change_requests import ApproveChange, RejectChange, SubmitChange
from headgate.control.identity.principals import AddPrincipal, RemovePrincipal, SignUp
from headgate.control.kernel.command import Command, PermissionDeniedError
from headgate.control.kernel.errors import AlreadyExistsError, InvalidError, NotFoundError
from headgate.control.resources.commands import DeleteResource, SetAttributes
from headgate.facts.ids import PrincipalId, ResourceId
from tests.control.organization_harness import (
    ANN,
    BEN,
    EVE,
    FOUNDER,
    LAKE,
    ROOT,
    World,
    datamesh,
    request,
    resource,
    role,
)

A, PORT = ResourceId("a"), ResourceId("port")
NEVER: float | None = None


def world() -> World:
    """Ann approves for the team that owns the port, Ben may ask for the team `ops`."""
    made = datamesh()
    made.do(role(ANN, "approver", "shop"), role(BEN, "member", "ops"))
    return made


def approve(starts: float = 1_000.0, ends: float | None = 5_000.0) -> ApproveAccess:
    return ApproveAccess(A, starts, ends)


def state(found: World) -> str:
    return found.facts.agreements[A].state


class TestAsking:
    def test_for_oneself_and_for_a_team_that_one_may_ask_for(self) -> None:
        found = world()

        found.do(request("a", BEN), request("b", "ops"), by=BEN)
        assert {each.author for each in found.facts.agreements.values()} == {BEN}
        assert state(found) == "requested"
        assert not found.may(BEN, "output_port.read_data", PORT)

    def test_not_for_somebody_else(self) -> None:
        for consumer in (ANN, "shop", "nobody"):
            world().refuse(request("a", consumer), PermissionDeniedError, by=BEN)

    def test_not_without_a_purpose(self) -> None:
        world().refuse(request("a", BEN, " "), PermissionDeniedError, by=BEN)

    def test_the_purpose_is_a_document(self) -> None:
        found = world()

        found.do(request("a", BEN, "a private reason"), by=BEN)
        assert "private" not in repr(found.store.log)
        assert found.store.bodies["access", A] == {"purpose": "a private reason"}

    def test_what_serves_and_who_is_served_have_to_be_there(self) -> None:
        for consumer, error in (("nobody", NotFoundError), ("product", InvalidError)):
            world().refuse(request("a", consumer), error)
        world().refuse(request("port", BEN), AlreadyExistsError)

    def test_where_the_port_says_so_it_is_approved_at_once(self) -> None:
        found = world()
        found.do(SetAttributes(PORT, {"auto_approve": ("true",)}))

        found.do(request("a", BEN), by=BEN)
        assert (state(found), found.facts.agreements[A].ends) == ("approved", NEVER)
        assert found.may(BEN, "output_port.read_data", PORT)

    def test_a_team_gets_its_own_at_once(self) -> None:
        found = world()

        found.do(request("a", "shop"), by=ANN)
        assert state(found) == "approved"
        found.do(request("b", "web"), by=FOUNDER)
        assert found.facts.agreements[ResourceId("b")].state == "requested"

    def test_the_deployment_says_who_asked(self) -> None:
        found = world()
        asked = request("a", BEN)

        found.do(type(asked)(asked.access, asked.port, asked.consumer, asked.purpose, author=EVE))
        assert found.facts.agreements[A].author == EVE


class TestDeciding:
    def test_an_approved_one_serves_within_its_dates(self) -> None:
        found = world()
        found.do(request("a", "ops"), by=BEN)

        found.do(approve(2_000.0, 5_000.0), by=ANN)
        for now, served in ((1_999.0, False), (2_000.0, True), (4_999.0, True), (5_000.0, False)):
            found.now = now
            assert found.may(BEN, "output_port.read_data", PORT) is served

    def test_the_providers_decide_and_nobody_else(self) -> None:
        for command in (approve(), RejectAccess(A), DeleteAccess(A)):
            found = world()
            found.do(request("a", "ops"))
            found.refuse(command, PermissionDeniedError, by=BEN)
            assert found.do(command, by=ANN)

    def test_a_rejected_one_stays_so(self) -> None:
        found = world()
        found.do(request("a", "ops"))

        found.do(RejectAccess(A), by=ANN)
        for command in (approve(), RejectAccess(A), TerminateAccess(A)):
            found.refuse(command, PermissionDeniedError, by=ANN)

    def test_it_is_decided_once(self) -> None:
        found = world()
        found.do(request("a", "ops"))

        found.do(approve(), by=ANN)
        found.refuse(approve(), PermissionDeniedError, by=ANN)
        found.refuse(RejectAccess(A), PermissionDeniedError, by=ANN)

    def test_its_dates_follow_each_other(self) -> None:
        found = world()
        found.do(request("a", "ops"))

        found.refuse(approve(2_000.0, 2_000.0), InvalidError, "end before it begins", by=ANN)

    def test_either_side_ends_it_and_then_nobody_is_served(self) -> None:
        for who in (ANN, EVE):
            found = world()
            found.do(request("a", EVE), by=EVE)
            found.do(approve(), by=ANN)
            assert found.may(EVE, "output_port.read_data", PORT)

            found.do(TerminateAccess(A), by=who)
            assert state(found) == "terminated"
            assert not found.may(EVE, "output_port.read_data", PORT)

    def test_only_an_agreement_ends(self) -> None:
        found = world()
        found.do(request("a", EVE), by=EVE)

        found.refuse(TerminateAccess(A), PermissionDeniedError, by=ANN)

    def test_a_deleted_one_is_gone_with_what_it_gave(self) -> None:
        found = world()
        found.do(request("a", EVE), approve())

        facts = found.do(DeleteAccess(A), by=ANN)
        assert A not in facts.agreements
        assert not found.may(EVE, "output_port.read_data", PORT)
        assert ("access", A) not in found.store.bodies

    def test_it_goes_with_its_port(self) -> None:
        found = world()
        found.do(request("a", EVE), approve(), DeleteResource(PORT))

        assert not found.roles(EVE, PORT)
        found.refuse(EditAccess(A, 1_000.0, None, "more"), NotFoundError)

    def test_it_goes_with_its_consumer_and_a_user_that_returns_is_not_served(self) -> None:
        found = world()
        found.do(request("a", EVE), approve())
        assert found.may(EVE, "output_port.read_data", PORT)

        facts = found.do(RemovePrincipal(EVE), SignUp(EVE, "Eve"))
        assert A not in facts.agreements
        assert ("access", A) not in found.store.bodies
        assert not found.may(EVE, "output_port.read_data", PORT)

    def test_it_has_to_be_there(self) -> None:
        for command in (approve(), RejectAccess(A), TerminateAccess(A), DeleteAccess(A)):
            world().refuse(command, NotFoundError, by=ANN)


class TestEditing:
    def test_the_consumer_edits_what_is_only_requested(self) -> None:
        found = world()
        found.do(request("a", EVE), by=EVE)

        found.do(EditAccess(A, 0.0, None, "another purpose"), by=EVE)
        assert (state(found), found.facts.agreements[A].starts) == ("requested", None)
        assert found.store.bodies["access", A] == {"purpose": "another purpose"}

    def test_the_provider_changes_the_dates_of_an_agreement(self) -> None:
        found = world()
        found.do(request("a", EVE), approve())
        edited = EditAccess(A, 1_000.0, 9_000.0, "to know")
        found.refuse(edited, PermissionDeniedError, by=EVE)

        found.do(edited, by=ANN)
        found.now = 8_000.0
        assert found.may(EVE, "output_port.read_data", PORT)

    def test_one_that_is_over_is_not_revived(self) -> None:
        found = world()
        found.do(request("a", EVE), approve())
        found.now = 5_000.0

        found.refuse(EditAccess(A, 1_000.0, 9_000.0, "to know"), PermissionDeniedError, by=ANN)

    def test_it_keeps_a_purpose(self) -> None:
        found = world()
        found.do(request("a", EVE))

        found.refuse(EditAccess(A, 0.0, None, ""), InvalidError, "for a purpose", by=ANN)


class TestAdding:
    def test_the_provider_adds_it_without_a_request(self) -> None:
        found = world()
        added = AddAccess(A, PORT, EVE, "to know", 1_000.0, 5_000.0)
        found.refuse(added, PermissionDeniedError, by=BEN)

        found.do(added, by=ANN)
        assert found.may(EVE, "output_port.read_data", PORT)


class TestChangeRequests:
    def with_process(self) -> World:
        found = world()
        found.do(role(BEN, "member", "shop"), ChangeSetting(ROOT, "change_process", "true"))
        return found

    def test_who_may_not_edit_files_a_change_that_another_approves(self) -> None:
        found = self.with_process()
        submitted = SubmitChange(A, ResourceId("product"), {"text": "a private draft"})
        found.refuse(submitted, PermissionDeniedError, by=EVE)

        found.do(submitted, by=BEN)
        assert "private" not in repr(found.store.log)
        found.refuse(ApproveChange(A), PermissionDeniedError, by=BEN)
        found.do(ApproveChange(A), by=ANN)
        assert found.facts.change_requests[A].state == "approved"

    @pytest.mark.parametrize("who", [ANN, FOUNDER])
    def test_nobody_approves_their_own(self, who: PrincipalId) -> None:
        found = self.with_process()
        found.do(SubmitChange(A, ResourceId("product")), by=who) if who == ANN else found.do(
            SubmitChange(A, ResourceId("product"), author=who)
        )

        for command in (ApproveChange(A), RejectChange(A)):
            found.refuse(command, PermissionDeniedError, by=who)

    def test_it_is_decided_once(self) -> None:
        found = self.with_process()
        found.do(SubmitChange(A, ResourceId("product"), author=BEN), RejectChange(A))

        found.refuse(ApproveChange(A), PermissionDeniedError, by=ANN)

    def test_without_the_process_there_are_none(self) -> None:
        world().refuse(SubmitChange(A, ResourceId("product")), PermissionDeniedError, by=ANN)

    def test_what_it_is_about_and_it_itself_have_to_be_there(self) -> None:
        found = self.with_process()
        commands: tuple[tuple[Command, type[Exception]], ...] = (
            (SubmitChange(A, ResourceId("nowhere")), NotFoundError),
            (SubmitChange(PORT, ResourceId("product")), AlreadyExistsError),
            (ApproveChange(A), NotFoundError),
            (RejectChange(PORT), NotFoundError),
        )
        for command, error in commands:
            found.refuse(command, error, by=ANN)  # pyright: ignore[reportArgumentType]


def test_an_agreement_is_read_on_the_tables_that_the_port_serves_under_another_model() -> None:
    found = World("nekt", tree="datamesh")
    found.do(resource("raw", "database", LAKE), resource("flights", "table", "raw"))
    found.do(resource("shop", "team", ROOT), resource("product", "data_product", ROOT, owner="shop"))
    found.do(resource("port", "output_port", "product", serves="flights"))
    found.do(AddPrincipal(ANN, "ann", "member"), AssignRole(ANN, "member", ROOT, model="datamesh"), request("a", ANN))
    assert not found.may(ANN, "table.select", "flights")

    found.do(approve())
    assert found.may(ANN, "table.select", "flights")
    assert not found.may(ANN, "table.insert", "flights")
    found.do(TerminateAccess(A), by=ANN)
    assert not found.may(ANN, "table.select", "flights")
