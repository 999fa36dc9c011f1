"""Cedar through cedarpy, with all entities parsed once."""

import json
from collections import defaultdict
from typing import Any, ClassVar

import cedarpy

from .engine import Check, Engine, List
from .oracle import Question
from .organization import LEVELS, Organization

_POLICY = """
permit (principal, action == Action::"{level}", resource is Table)
when {{ principal in resource.{level} || principal in resource.layer.{level} }};
"""


class CedarEngine(Engine):
    """Groups are parents of users; tables and layers name the users and groups with each level on them.

    Parsed entities cannot be changed: after a revoke all of them are parsed again, which is `load`. So there is no revoke.
    """

    name: ClassVar[str] = "cedarpy"

    @classmethod
    def prepare(cls, organization: Organization) -> str:
        """Return the entities as Cedar's JSON."""
        return json.dumps(_entities(organization))

    def load(self, prepared: str) -> None:
        """Parse the policies and the entities."""
        self._policies = cedarpy.PolicySet.from_str("".join(_POLICY.format(level=level) for level in LEVELS))
        self._entities = cedarpy.Entities.from_json_str(prepared)

    def table(self, question: Question) -> Check:
        """Authorize one request."""
        request = _request(question.user, question.level, question.resource)
        return lambda: cedarpy.is_authorized(request, self._policies, self._entities).allowed

    def pipeline(self, question: Question) -> Check:
        """Authorize all tables in one batch; Cedar has no "for all"."""
        tables = self.organization.touched(question.resource)
        requests = [_request(question.user, question.level, table) for table in tables]
        return lambda: all(each.allowed for each in self._batch(requests))

    def readable(self, user: str) -> List:
        """Authorize all tables, in one batch."""
        tables = list(self.organization.layer_of)
        requests = [_request(user, LEVELS[0], table) for table in tables]
        return lambda: [table for table, each in zip(tables, self._batch(requests), strict=True) if each.allowed]

    def readers(self, table: str) -> List:
        """Authorize all users, in one batch."""
        users = self.organization.users
        requests = [_request(user, LEVELS[0], table) for user in users]
        return lambda: [user for user, each in zip(users, self._batch(requests), strict=True) if each.allowed]

    def _batch(self, requests: list[dict[str, Any]]) -> list[cedarpy.AuthzResult]:
        return cedarpy.is_authorized_batch(requests, self._policies, self._entities)


def _request(user: str, level: str, table: str) -> dict[str, Any]:
    return {"principal": _uid("User", user), "action": _uid("Action", level), "resource": _uid("Table", table)}


def _entities(organization: Organization) -> list[dict[str, Any]]:
    granted: dict[str, dict[str, list[Any]]] = defaultdict(lambda: {level: [] for level in LEVELS})
    for grant in organization.grants:
        kind = "Group" if grant.subject in organization.groups else "User"
        for level in LEVELS[: LEVELS.index(grant.level) + 1]:
            granted[grant.place][level].append({"__entity": _uid(kind, grant.subject)})
    users = (
        _entity("User", user, parents=[_uid("Group", group) for group in groups])
        for user, groups in organization.groups_of().items()
    )
    groups = (_entity("Group", group) for group in organization.groups)
    layers = (_entity("Layer", layer, attrs=granted[layer]) for layer in organization.layers)
    tables = (
        _entity("Table", table, attrs={**granted[table], "layer": {"__entity": _uid("Layer", layer)}})
        for table, layer in organization.layer_of.items()
    )
    return [*users, *groups, *layers, *tables]


def _entity(kind: str, id: str, attrs: Any = None, parents: Any = None) -> dict[str, Any]:
    return {"uid": _uid(kind, id), "attrs": attrs or {}, "parents": parents or []}


def _uid(kind: str, id: str) -> dict[str, str]:
    return {"type": kind, "id": id}
