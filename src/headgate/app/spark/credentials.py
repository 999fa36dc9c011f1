"""Resolves a gateway credential to its caller, its organization's Spark, and the driver to use."""

from contextlib import suppress

from headgate.app.deployment import Deployment
from headgate.app.spark.drivers import Drivers
from headgate.control.identity.authenticated_principal import AuthenticatedPrincipal
from headgate.control.kernel.audit_records import Denial
from headgate.control.kernel.errors import SuspendedError
from headgate.control.organizations.organization import Organization, SeveralOrganizationsError
from headgate.control.pipelines.clusters import EMBEDDED
from headgate.endpoints.common.denials import recording_organization
from headgate.endpoints.internal.guard import GUARD_ENDPOINT
from headgate.facts.caller import Caller
from headgate.spark.authority import PresentedCredential
from headgate.spark.deciding_authority import ResolvedCredential
from headgate.spark.sessions.registry import SparkRegistry


class CredentialResolver:
    """Resolves credentials.

    A session uses a driver of the organization in which its caller acts: the session of a run uses the cluster on which the
    attempt began, every other session the embedded cluster.
    """

    def __init__(self, deployment: Deployment, sparks: SparkRegistry, drivers: Drivers) -> None:
        self._deployment = deployment
        self._sparks = sparks
        self._drivers = drivers

    def resolve(self, credential: PresentedCredential) -> ResolvedCredential | None:
        """Return the caller, Spark and driver of a credential, or None if it is not valid now. May wait for the store.

        Raises `SeveralOrganizationsError`, and `SuspendedError` for a member of a suspended organization.
        """
        presented = self._deployment.identity.authenticate(credential.token)
        if presented is None:
            return None
        organization = self._deployment.organizations.resolve_addressed(presented, credential.organization or None)
        found = self._in(organization, presented) if organization else None
        if found is None and organization and organization.is_suspended_for(presented):
            raise SuspendedError
        return found

    def record_denial(self, credential: PresentedCredential, denial: Denial) -> None:
        """Record that the Spark gateway denied a call, in the audit of the organization that it addresses."""
        organizations, named = self._deployment.organizations, credential.organization or None
        presented = self._deployment.identity.authenticate(credential.token)
        addressed = None
        if presented is not None:
            with suppress(SeveralOrganizationsError):
                addressed = organizations.resolve_addressed(presented, named)
        organization = recording_organization(organizations, addressed, named)
        if organization is not None:
            caller = organization.caller(presented) if presented and organization is addressed else None
            self._deployment.audit.record_denial(organization, caller, denial, GUARD_ENDPOINT)

    def resolve_cached(self, credential: PresentedCredential) -> ResolvedCredential | None:
        """Return the same as `resolve` if it is cached, else None. Never waits."""
        presented = self._deployment.identity.cached(credential.token)
        if presented is None or presented.organization is None:
            return None
        if credential.organization not in ("", presented.organization):
            return None
        organization = self._deployment.organizations.if_open(presented.organization)
        return self._in(organization, presented) if organization else None

    def _in(self, organization: Organization, presented: AuthenticatedPrincipal) -> ResolvedCredential | None:
        caller = organization.caller(presented)
        if caller is None:
            return None
        cluster = _cluster(organization, caller)
        driver, why_not = self._drivers.get(organization, cluster)
        return ResolvedCredential(caller, self._sparks.of(organization, cluster), driver, why_not)


def _cluster(organization: Organization, caller: Caller) -> str:
    """Return the cluster on which this attempt of a run began. A later move of the pipeline affects the next attempt."""
    row = organization.store.run(caller.run) if caller.run else None
    return (row.cluster if row else "") or EMBEDDED
