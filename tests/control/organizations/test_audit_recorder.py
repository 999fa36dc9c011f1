"""The audit's record of a decision."""

from headgate.control.kernel.audit_records import REFUSED, AuditRecord, Denial
from headgate.control.models.library import FixedModels
from headgate.control.organizations.audit_recorder import LONGEST_ACTION, LONGEST_RESOURCE, AuditRecorder
from headgate.control.organizations.organization import Organizations
from headgate.facts.ids import PrincipalId, ResourceId
from tests.fakes import small_organization
from tests.fakes.store import FakeStores


def test_the_audit_stores_the_beginning_of_a_long_action_or_resource() -> None:
    stores = FakeStores()
    stores.log(small_organization.ROOT).write(*small_organization.PEOPLE, *small_organization.THINGS)
    organization = Organizations(stores, FixedModels(small_organization.MODELS), lambda: small_organization.NOW).open(
        small_organization.ROOT
    )
    audit = AuditRecorder(stores)

    audit.record(
        ResourceId("o-1"), AuditRecord(1.0, PrincipalId("ann"), "x" * 201, "lake.raw.t", allowed=False, revision=1)
    )
    audit.record_denial(organization, None, Denial(REFUSED, "y" * 201, ResourceId("z" * 1001)), "api")
    audit.close()

    kept = [(record.action, record.resource) for _, record in stores.records]
    assert kept == [("x" * LONGEST_ACTION, "lake.raw.t"), ("y" * LONGEST_ACTION, "z" * LONGEST_RESOURCE)]
