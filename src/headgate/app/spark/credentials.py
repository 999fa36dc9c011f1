"""Resolves a gateway credential to its caller, its organization's Spark, and the driver to use."""

from headgate.app.deployment import Deployment
from headgate.app.spark.drivers import Drivers
from headgate.control.authentication.caller_resolver import CallerResolver, ResolvedCaller, UnknownCallerError
from headgate.control.kernel.audit_records import Denial
from headgate.control.kernel.errors import SuspendedError
from headgate.control.organizations.organization import Organization, SeveralOrganizationsError
from headgate.control.pipelines.cluster_names import EMBEDDED
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
        self._callers = CallerResolver(deployment.identity, deployment.organizations)
        self._sparks = sparks
        self._drivers = drivers

    def resolve(self, credential: PresentedCredential) -> ResolvedCredential | None:
        """Return the caller, Spark and driver of a credential, or None if it is not valid now. May wait for the store.

        Raises `SeveralOrganizationsError`, and `SuspendedError` for a member of a suspended organization.
        """
        try:
            return self._with_driver(self._callers.resolve(credential.token, credential.organization or None))
        except UnknownCallerError as error:
            if error.is_suspended:
                raise SuspendedError from None
            return None

    def resolve_cached(self, credential: PresentedCredential) -> ResolvedCredential | None:
        """Return the same as `resolve` if it is cached, else None. Never waits."""
        found = self._callers.resolve_cached(credential.token, credential.organization or None)
        return self._with_driver(found) if found else None

    def record_denial(self, credential: PresentedCredential, denial: Denial) -> None:
        """Record that the Spark gateway denied a call, in the audit of the organization that it addresses."""
        named = credential.organization or None
        addressed, caller = self._addressed(credential.token, named)
        organization = recording_organization(self._deployment.organizations, addressed, named)
        if organization is not None:
            known = caller if organization is addressed else None
            self._deployment.audit.record_denial(organization, known, denial, GUARD_ENDPOINT)

    def _addressed(self, secret: str, named: str | None) -> tuple[Organization | None, Caller | None]:
        try:
            return self._callers.resolve(secret, named)
        except UnknownCallerError as error:
            return error.addressed, None
        except SeveralOrganizationsError:
            return None, None

    def _with_driver(self, found: ResolvedCaller) -> ResolvedCredential:
        cluster = _cluster(found.organization, found.caller)
        driver, why_not = self._drivers.get(found.organization, cluster)
        return ResolvedCredential(found.caller, self._sparks.of(found.organization, cluster), driver, why_not)


def _cluster(organization: Organization, caller: Caller) -> str:
    """Return the cluster on which this attempt of a run began. A later move of the pipeline affects the next attempt."""
    row = organization.store.run(caller.run) if caller.run else None
    return (row.cluster if row else "") or EMBEDDED
