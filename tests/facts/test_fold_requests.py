"""The fold of access requests, agreements, change requests and requests for access."""

import pytest

from headgate.facts import changes as c
from headgate.facts.ids import PrincipalId, RequestId, ResourceId
from headgate.facts.snapshot import (
    AccessRequest,
    Agreement,
    ChangeRequest,
    Resource,
)
from tests.facts.samples import (
    ACCESS,
    ANNA,
    BEN,
    PORT,
    REQUEST,
    ROOT,
    TABLE,
    TEAM,
)
from tests.facts.test_fold import CONSUMED, FACTS, after, given_to


class TestAccess:
    def test_requesting_access_creates_a_resource_and_an_agreement(self) -> None:
        facts = after(c.AccessRequested(ResourceId("a3"), PORT, BEN, ANNA))

        assert facts.resources[ResourceId("a3")] == Resource(
            ResourceId("a3"),
            "access",
            ROOT,
            "a3",
            ANNA,
            {"port": (c.Edge(PORT),), "consumer": (c.Edge(ResourceId(BEN)),)},
        )
        assert facts.agreements[ResourceId("a3")] == Agreement(PORT, BEN, ANNA, "requested")
        assert facts.referrers[PORT] == {ACCESS, REQUEST, "a3"}

    def test_an_access_is_approved_for_a_time(self) -> None:
        facts = after(c.AccessApproved(ACCESS, 8.0, 9.0))

        assert facts.agreements[ACCESS] == Agreement(PORT, TEAM, ANNA, "approved", 8.0, 9.0)

    def test_terminating_an_access_revokes_the_roles_assigned_for_it(self) -> None:
        other = given_to(PrincipalId(TEAM), "consumer", PORT, "other")
        facts = after(other, c.AccessEnded(ACCESS, "terminated"))

        assert facts.agreements[ACCESS].state == "terminated"
        assert list(facts.assignments[TEAM]) == [("consumer", PORT, "other")]
        assert ACCESS in facts.resources

    def test_rejecting_an_access_revokes_no_role(self) -> None:
        facts = after(c.AccessEnded(ACCESS, "rejected"))

        assert facts.agreements[ACCESS].state == "rejected"
        assert list(facts.assignments[TEAM]) == [CONSUMED]

    def test_deleting_an_access_revokes_the_roles_assigned_for_it(self) -> None:
        facts = after(c.AccessDeleted(ACCESS))

        assert ACCESS not in facts.agreements
        assert ACCESS not in facts.resources
        assert TEAM not in facts.assignments
        assert facts.referrers[PORT] == {REQUEST}

    def test_an_access_that_does_not_exist_cannot_be_approved(self) -> None:
        with pytest.raises(KeyError):
            after(c.AccessApproved(ResourceId("a9"), 1.0, None))


class TestChangeRequests:
    def test_a_change_request_is_a_resource_about_a_resource(self) -> None:
        assert FACTS.resources[REQUEST] == Resource(
            REQUEST, "change_request", ROOT, REQUEST, BEN, {"of": (c.Edge(PORT),)}
        )
        assert FACTS.change_requests[REQUEST] == ChangeRequest(PORT, BEN, "approved")
        assert after(c.ChangeDecided(REQUEST, "rejected")).change_requests[REQUEST].state == "rejected"

    def test_a_deleted_change_request_is_gone(self) -> None:
        assert REQUEST not in after(c.ResourceDeleted(REQUEST)).change_requests


class TestRequests:
    def test_a_request_is_filed_about_a_resource_or_a_name_and_decided(self) -> None:
        first, second = RequestId("r8"), RequestId("r9")
        filed = (c.RequestFiled(first, BEN, "table.select", TABLE), c.RequestFiled(second, BEN, "table.select", None))
        facts = after(*filed, c.RequestDecided(first, "rejected"))

        assert facts.requests[first] == AccessRequest(BEN, "table.select", TABLE, "rejected")
        assert facts.requests[second] == AccessRequest(BEN, "table.select", None, "requested")
