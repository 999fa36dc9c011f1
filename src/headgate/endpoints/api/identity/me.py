"""The current caller (whoami)."""

from operator import itemgetter
from typing import Any

from pydantic import BaseModel

from headgate.control.access.visibility import may_see_subject
from headgate.control.deployment.break_glass import break_glass_until
from headgate.control.identity.narrowed_callers import is_narrowed
from headgate.control.organizations.organization import Organization
from headgate.endpoints.common.context import AppState, CurrentApp, CurrentCaller, CurrentOrganization
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.lookup import resource_display_name, visible_display_name
from headgate.endpoints.common.route_metadata import caller_only
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import NOTHING_HELD

router = ApiRouter(tags=["me"])


class HeldRole(BaseModel):
    """A role on a resource, from `starts` until `ends` (seconds since the epoch; null = open)."""

    role: str
    resource: str
    resource_id: str
    starts: float | None
    ends: float | None
    reason: str


class NamedReference(BaseModel):
    """The id and the name of an object."""

    id: str
    name: str


class CallerDetails(BaseModel):
    """The caller in the organization: its directly assigned roles, its groups and its teams.

    `acts_in` is the team in which the caller's token acts. `break_glass` is the end of the break-glass access that is active in the organization (seconds since the epoch), or null.
    """

    name: str
    principal: str
    kind: str
    token: str | None
    organization: NamedReference
    roles: list[HeldRole]
    groups: list[str]
    teams: list[str]
    acts_in: str | None
    break_glass: float | None
    revision: int


@router.get("/me", response_model=CallerDetails, **caller_only("returns data of the caller only"))
def get_me(deployed: CurrentApp, organization: CurrentOrganization, caller: CurrentCaller) -> dict[str, Any]:
    """Get the current caller, with its roles, groups and teams."""
    facts, directory = organization.control.snapshot, organization.directory
    token = facts.tokens.get(caller.token) if caller.token is not None else None
    team = token.acts_in if token is not None else None
    return {
        "name": directory.name(caller.principal),
        "principal": caller.principal,
        "kind": facts.principals[caller.principal].kind,
        "token": caller.token,
        "organization": {"id": organization.id, "name": organization_name(deployed, organization)},
        "roles": list_held_roles(organization, caller, caller.principal),
        "groups": sorted(
            directory.name(each) for each in facts.groups_of(caller.principal) if _sees(organization, caller, each)
        ),
        "teams": sorted(
            resource_display_name(organization, each)
            for each in _teams(organization, caller.principal)
            if _sees(organization, caller, each)
        ),
        "acts_in": None if team is None else visible_display_name(organization, caller, team),
        "break_glass": break_glass_until(facts, organization.control.now),
        "revision": facts.revision,
    }


def list_held_roles(organization: Organization, caller: Caller, subject: str) -> list[dict[str, Any]]:
    """Return the directly assigned roles of a subject, as rows.

    Only roles on resources that the caller may see are returned, but all roles of the caller itself, unless it is narrowed.
    """
    facts = organization.control.snapshot
    found = facts.assignments.get(ResourceId(subject), NOTHING_HELD).values()
    own = subject == caller.principal and not is_narrowed(facts, caller)
    rows = (
        {
            "role": each.role,
            "resource": visible_display_name(organization, caller, each.resource),
            "resource_id": each.resource,
            "starts": each.starts,
            "ends": each.ends,
            "reason": each.reason,
        }
        for each in found
        if own or organization.control.is_visible(caller, each.resource)
    )
    return sorted(rows, key=itemgetter("resource", "role", "reason"))


def _sees(organization: Organization, caller: Caller, own: str) -> bool:
    """Return whether the caller may see a group or team of its principal; only a narrowed caller may not see all of them."""
    control = organization.control
    return not is_narrowed(control.snapshot, caller) or may_see_subject(
        control.answers, caller, ResourceId(own), control.now
    )


def organization_name(deployed: AppState, organization: Organization) -> str:
    """Return the name of the organization in the deployment."""
    there = deployed.organizations.deployment.control.snapshot.resources
    found = there.get(organization.id)
    return found.name if found else organization.id


def _teams(organization: Organization, principal: str) -> set[ResourceId]:
    facts, models = organization.control.snapshot, organization.control.models.values()
    types = frozenset[str]().union(*(each.members for each in models))
    places = (place for _, place, _ in facts.assignments.get(ResourceId(principal), NOTHING_HELD))
    return {place for place in places if facts.resources[place].type in types}
