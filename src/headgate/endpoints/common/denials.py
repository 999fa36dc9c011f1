"""Denials of requests: each is recorded in the audit of the organization that the request addresses."""

from contextlib import suppress

from starlette.types import Scope

from headgate.control.kernel.audit_records import Denial
from headgate.control.kernel.errors import NotFoundError
from headgate.control.kernel.ports import StoreError
from headgate.control.organizations.audit_recorder import AuditRecorder
from headgate.control.organizations.organization import Organization, Organizations
from headgate.endpoints.common.request_scope import ADDRESSED, CALLER, ORGANIZATION_KEY, REQUEST, ROUTE

DENIED = (401, 403, 404)
"""Statuses of denials: the caller is unknown, may not do this, or may not know of the resource."""


def record_denial(scope: Scope, door: str, denial: Denial) -> None:
    """Record that a request was denied, with its caller if the caller is known. It may wait for the store.

    A denial without an action is recorded with the method and the route as its action.
    """
    organization = addressed_organization(scope)
    if organization is None:
        return
    found, audit = scope.get(CALLER), _audit(scope)
    named = Denial(denial.code, denial.action or _route(scope), denial.resource)
    audit.record_denial(organization, found[1] if found else None, named, door, str(scope.get(REQUEST, "")))


def addressed_organization(scope: Scope) -> Organization | None:
    """Return the organization whose audit records a denial: that of the caller, else that in the path, else the only one."""
    organizations: Organizations = scope["app"].state.deployed.organizations
    known: Organization | None = scope[CALLER][0] if CALLER in scope else scope.get(ADDRESSED)
    return recording_organization(organizations, known, scope.get(ORGANIZATION_KEY))


def recording_organization(
    organizations: Organizations, known: Organization | None, named: str | None
) -> Organization | None:
    """Return the organization whose audit records a denial: `known`, else the `named` one, else the only one.

    Return the deployment if there is no such organization, or if its log cannot be read. Return None if the log of the
    deployment cannot be read either.
    """
    with suppress(NotFoundError, StoreError):
        found = known or (organizations.find(named) if named else organizations.sole)
        if found is not None and not found.control.is_refused:
            return found
    try:
        return organizations.deployment
    except StoreError:
        return None


def _audit(scope: Scope) -> AuditRecorder:
    found: AuditRecorder = scope["app"].state.deployed.audit
    return found


def _route(scope: Scope) -> str:
    path = scope.get(ROUTE) or getattr(scope.get("route"), "path", "")
    return f"{scope['method']} {path}"
