"""The suspension of an organization, and the decisions during it."""

from headgate.control.identity.authenticated_principal import AuthenticatedPrincipal
from headgate.control.kernel.command import PermissionDeniedError
from headgate.control.kernel.errors import NotFoundError, SuspendedError
from headgate.control.organizations.organization_life import RenameOrganization
from headgate.control.organizations.suspension import ResumeOrganization, SuspendOrganization
from headgate.control.resources.commands import SetAttributes
from headgate.facts.ids import PrincipalId, ResourceId
from tests.control.organization_harness import FOUNDER, ROOT, nekt
from tests.pipelines.fake_worker import opened


def test_a_founder_neither_suspends_nor_resumes_the_organization() -> None:
    world = nekt()

    world.refuse(SuspendOrganization(ROOT), PermissionDeniedError, by=FOUNDER)
    world.refuse(ResumeOrganization(ROOT), PermissionDeniedError, by=FOUNDER)
    world.refuse(SuspendOrganization(ResourceId("nosuch")), NotFoundError)


def test_a_founder_cannot_resume_the_organization_by_setting_attributes() -> None:
    world = nekt()
    world.do(SuspendOrganization(ROOT))

    world.refuse(SetAttributes(ROOT, {"suspended": ()}), SuspendedError, by=FOUNDER)


def test_a_write_in_a_suspended_organization_is_refused() -> None:
    world = nekt()
    world.do(RenameOrganization("one"), by=FOUNDER)
    world.do(SuspendOrganization(ROOT))

    world.refuse(RenameOrganization("two"), SuspendedError, "is suspended", by=FOUNDER)

    world.do(ResumeOrganization(ROOT))
    world.do(RenameOrganization("two"), by=FOUNDER)


def test_suspending_twice_and_resuming_once_leaves_the_organization_active() -> None:
    world = nekt()
    attributes = world.facts.resources[ROOT].attributes

    world.do(SuspendOrganization(ROOT))
    world.do(SuspendOrganization(ROOT))
    assert world.facts.is_suspended
    world.do(ResumeOrganization(ROOT))

    assert (world.facts.is_suspended, world.facts.resources[ROOT].attributes) == (False, attributes)


def test_a_suspension_is_reported_to_members_only() -> None:
    organization = opened(lambda: 1_000.0)
    organization.control.execute(SuspendOrganization(organization.id), None)
    member = next(iter(sorted(organization.control.snapshot.principals)))

    assert organization.is_suspended_for(AuthenticatedPrincipal(member, None))
    assert not organization.is_suspended_for(AuthenticatedPrincipal(PrincipalId("p_unknown"), None))
    assert not organization.is_suspended_for(AuthenticatedPrincipal(member, ResourceId("another")))
    assert organization.caller(AuthenticatedPrincipal(member, None)) is None
