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
    OrganizationHarness,
    datamesh,
    request,
    resource,
    role,
)

A, PORT = ResourceId("a"), ResourceId("port")
NEVER: float | None = None


def world() -> OrganizationHarness:
    """Ann approves for the team that owns the port, and Ben may request access for the team `ops`."""
    made = datamesh()
    made.do(role(ANN, "approver", "shop"), role(BEN, "member", "ops"))
    return made


def approve(starts: float = 1_000.0, ends: float | None = 5_000.0) -> ApproveAccess:
    return ApproveAccess(A, starts, ends)


def state(found: OrganizationHarness) -> str:
    return found.facts.agreements[A].state


class TestAsking:
    def test_a_user_requests_access_for_themselves_and_for_their_team(self) -> None:
        found = world()

        found.do(request("a", BEN), request("b", "ops"), by=BEN)
        assert {each.author for each in found.facts.agreements.values()} == {BEN}
        assert state(found) == "requested"
        assert not found.may(BEN, "output_port.read_data", PORT)

    def test_a_user_cannot_request_access_for_another_user_or_team(self) -> None:
        for consumer in (ANN, "shop", "nobody"):
            world().refuse(request("a", consumer), PermissionDeniedError, by=BEN)

    def test_a_request_without_a_purpose_is_refused(self) -> None:
        world().refuse(request("a", BEN, " "), PermissionDeniedError, by=BEN)

    def test_the_purpose_is_stored_in_a_document_and_not_in_the_log(self) -> None:
        found = world()

        found.do(request("a", BEN, "a private reason"), by=BEN)
        assert "private" not in repr(found.store.log)
        assert found.store.bodies["access", A] == {"purpose": "a private reason"}

    def test_a_request_needs_an_existing_consumer_and_a_new_id(self) -> None:
        for consumer, error in (("nobody", NotFoundError), ("product", InvalidError)):
            world().refuse(request("a", consumer), error)
        world().refuse(request("port", BEN), AlreadyExistsError)

    def test_a_request_for_an_auto_approving_port_is_approved_at_once(self) -> None:
        found = world()
        found.do(SetAttributes(PORT, {"auto_approve": ("true",)}))

        found.do(request("a", BEN), by=BEN)
        assert (state(found), found.facts.agreements[A].ends) == ("approved", NEVER)
        assert found.may(BEN, "output_port.read_data", PORT)

    def test_a_request_of_the_team_that_owns_the_port_is_approved_at_once(self) -> None:
        found = world()

        found.do(request("a", "shop"), by=ANN)
        assert state(found) == "approved"
        found.do(request("b", "web"), by=FOUNDER)
        assert found.facts.agreements[ResourceId("b")].state == "requested"

    def test_the_deployment_names_the_author_of_a_request(self) -> None:
        found = world()
        asked = request("a", BEN)

        found.do(type(asked)(asked.access, asked.port, asked.consumer, asked.purpose, author=EVE))
        assert found.facts.agreements[A].author == EVE


class TestDeciding:
    def test_an_approved_agreement_allows_reading_within_its_dates_only(self) -> None:
        found = world()
        found.do(request("a", "ops"), by=BEN)

        found.do(approve(2_000.0, 5_000.0), by=ANN)
        for now, served in ((1_999.0, False), (2_000.0, True), (4_999.0, True), (5_000.0, False)):
            found.now = now
            assert found.may(BEN, "output_port.read_data", PORT) is served

    def test_an_approver_of_the_provider_decides_and_the_consumer_cannot(self) -> None:
        for command in (approve(), RejectAccess(A), DeleteAccess(A)):
            found = world()
            found.do(request("a", "ops"))
            found.refuse(command, PermissionDeniedError, by=BEN)
            assert found.do(command, by=ANN)

    def test_a_rejected_agreement_stays_rejected(self) -> None:
        found = world()
        found.do(request("a", "ops"))

        found.do(RejectAccess(A), by=ANN)
        for command in (approve(), RejectAccess(A), TerminateAccess(A)):
            found.refuse(command, PermissionDeniedError, by=ANN)

    def test_an_agreement_is_decided_only_once(self) -> None:
        found = world()
        found.do(request("a", "ops"))

        found.do(approve(), by=ANN)
        found.refuse(approve(), PermissionDeniedError, by=ANN)
        found.refuse(RejectAccess(A), PermissionDeniedError, by=ANN)

    def test_an_agreement_that_ends_before_it_begins_is_refused(self) -> None:
        found = world()
        found.do(request("a", "ops"))

        found.refuse(approve(2_000.0, 2_000.0), InvalidError, "not after its start", by=ANN)

    def test_the_provider_or_the_consumer_terminates_an_agreement_and_its_access(self) -> None:
        for who in (ANN, EVE):
            found = world()
            found.do(request("a", EVE), by=EVE)
            found.do(approve(), by=ANN)
            assert found.may(EVE, "output_port.read_data", PORT)

            found.do(TerminateAccess(A), by=who)
            assert state(found) == "terminated"
            assert not found.may(EVE, "output_port.read_data", PORT)

    def test_a_requested_agreement_cannot_be_terminated(self) -> None:
        found = world()
        found.do(request("a", EVE), by=EVE)

        found.refuse(TerminateAccess(A), PermissionDeniedError, by=ANN)

    def test_deleting_an_agreement_deletes_its_access_and_its_document(self) -> None:
        found = world()
        found.do(request("a", EVE), approve())

        facts = found.do(DeleteAccess(A), by=ANN)
        assert A not in facts.agreements
        assert not found.may(EVE, "output_port.read_data", PORT)
        assert ("access", A) not in found.store.bodies

    def test_an_agreement_is_deleted_with_its_port(self) -> None:
        found = world()
        found.do(request("a", EVE), approve(), DeleteResource(PORT))

        assert not found.roles(EVE, PORT)
        found.refuse(EditAccess(A, 1_000.0, None, "more"), NotFoundError)

    def test_an_agreement_is_deleted_with_its_consumer_even_if_the_user_returns(self) -> None:
        found = world()
        found.do(request("a", EVE), approve())
        assert found.may(EVE, "output_port.read_data", PORT)

        facts = found.do(RemovePrincipal(EVE), SignUp(EVE, "Eve"))
        assert A not in facts.agreements
        assert ("access", A) not in found.store.bodies
        assert not found.may(EVE, "output_port.read_data", PORT)

    def test_a_missing_agreement_is_not_found(self) -> None:
        for command in (approve(), RejectAccess(A), TerminateAccess(A), DeleteAccess(A)):
            world().refuse(command, NotFoundError, by=ANN)


class TestADeletedConsumer:
    def test_a_request_of_a_deleted_team_is_not_approved(self) -> None:
        found = world()
        found.do(request("a", "ops"), by=BEN)
        found.do(DeleteResource(ResourceId("ops")))

        found.refuse(approve(), InvalidError, "the consumer of the agreement does not exist any more", by=ANN)

    def test_an_agreement_of_a_deleted_team_is_not_edited(self) -> None:
        found = world()
        found.do(request("a", "ops"), by=BEN)
        found.do(approve(), by=ANN)
        found.do(DeleteResource(ResourceId("ops")))

        edit = EditAccess(A, 2_000.0, None, "another purpose")
        found.refuse(edit, InvalidError, "the consumer of the agreement does not exist any more", by=ANN)


class TestEditing:
    def test_the_consumer_edits_a_requested_agreement(self) -> None:
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

    def test_an_expired_agreement_cannot_be_edited(self) -> None:
        found = world()
        found.do(request("a", EVE), approve())
        found.now = 5_000.0

        found.refuse(EditAccess(A, 1_000.0, 9_000.0, "to know"), PermissionDeniedError, by=ANN)

    def test_an_edit_that_removes_the_purpose_is_refused(self) -> None:
        found = world()
        found.do(request("a", EVE))

        found.refuse(EditAccess(A, 0.0, None, ""), InvalidError, "the purpose of the agreement is empty", by=ANN)


class TestAdding:
    def test_the_provider_adds_an_agreement_without_a_request(self) -> None:
        found = world()
        added = AddAccess(A, PORT, EVE, "to know", 1_000.0, 5_000.0)
        found.refuse(added, PermissionDeniedError, by=BEN)

        found.do(added, by=ANN)
        assert found.may(EVE, "output_port.read_data", PORT)


class TestChangeRequests:
    def with_process(self) -> OrganizationHarness:
        found = world()
        found.do(role(BEN, "member", "shop"), ChangeSetting(ROOT, "change_process", "true"))
        return found

    def test_a_member_submits_a_change_that_an_approver_approves(self) -> None:
        found = self.with_process()
        submitted = SubmitChange(A, ResourceId("product"), {"text": "a private draft"})
        found.refuse(submitted, PermissionDeniedError, by=EVE)

        found.do(submitted, by=BEN)
        assert "private" not in repr(found.store.log)
        found.refuse(ApproveChange(A), PermissionDeniedError, by=BEN)
        found.do(ApproveChange(A), by=ANN)
        assert found.facts.change_requests[A].state == "approved"

    @pytest.mark.parametrize("who", [ANN, FOUNDER])
    def test_an_author_cannot_decide_their_own_change_request(self, who: PrincipalId) -> None:
        found = self.with_process()
        found.do(SubmitChange(A, ResourceId("product")), by=who) if who == ANN else found.do(
            SubmitChange(A, ResourceId("product"), author=who)
        )

        for command in (ApproveChange(A), RejectChange(A)):
            found.refuse(command, PermissionDeniedError, by=who)

    def test_a_change_request_is_decided_only_once(self) -> None:
        found = self.with_process()
        found.do(SubmitChange(A, ResourceId("product"), author=BEN), RejectChange(A))

        found.refuse(ApproveChange(A), PermissionDeniedError, by=ANN)

    def test_change_requests_are_refused_if_the_change_process_is_off(self) -> None:
        world().refuse(SubmitChange(A, ResourceId("product")), PermissionDeniedError, by=ANN)

    def test_a_change_request_needs_an_existing_resource_and_a_new_id(self) -> None:
        found = self.with_process()
        commands: tuple[tuple[Command, type[Exception]], ...] = (
            (SubmitChange(A, ResourceId("nowhere")), NotFoundError),
            (SubmitChange(PORT, ResourceId("product")), AlreadyExistsError),
            (ApproveChange(A), NotFoundError),
            (RejectChange(PORT), NotFoundError),
        )
        for command, error in commands:
            found.refuse(command, error, by=ANN)  # pyright: ignore[reportArgumentType]


def test_an_agreement_gives_read_on_served_tables_under_another_model() -> None:
    found = OrganizationHarness("nekt", tree="datamesh")
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
