"""Headgate's analyses: explanations of decisions, and what-if, with the correct answers."""

import random
from dataclasses import dataclass, replace

from headgate.decision.diff.what_if import analyze_changes
from headgate.decision.explain.explain import explain, smallest_fixes
from headgate.decision.types import Question as Asked
from headgate.facts.caller import Caller
from headgate.facts.changes import Change, MemberRemoved, RoleRevoked
from headgate.facts.ids import GroupId, PrincipalId, ResourceId

from .engine import Check, List
from .headgate_engine import NOW, ON_TABLE, HeadgateEngine
from .oracle import Oracle, Question
from .organization import LEVELS, Grant, Organization
from .sample import Case, Sample

_CASES = 40
_WORKED_OUT = 5
_MOST_MEMBERS = 50
"""The largest group whose grants are revoked. For a larger one, what-if lists all holders in the lake, which takes minutes."""
_READER = LEVELS[0]


@dataclass(frozen=True, slots=True)
class Membership:
    """A user, as a member of a group."""

    group: str
    user: str


class AnalyzingEngine(HeadgateEngine):
    """Headgate's engine with its analyses."""

    def explain_allow(self, question: Question) -> Check:
        """Explain a check to the user: with all grant paths."""
        engine, asked = self._engine, _asked(question)
        return lambda: explain(engine.models, engine.facts, asked, NOW, engine).decision.allowed

    def explain_deny(self, question: Question) -> Check:
        """Explain a check to an administrator, as the endpoint does: with what is missing, and the smallest fixes."""
        engine, asked = self._engine, _asked(question)

        def call() -> bool:
            found = explain(engine.models, engine.facts, asked, NOW, engine)
            smallest_fixes(engine.models, engine.facts, asked, NOW, engine)
            return found.decision.allowed

        return call

    def revoke_impact(self, grant: Grant) -> List:
        """List the tables that users could no longer read without a grant."""
        return self._impact(RoleRevoked(PrincipalId(grant.subject), grant.level, ResourceId(grant.place)))

    def leave_impact(self, member: Membership) -> List:
        """List the tables that a user could no longer read after leaving a group."""
        return self._impact(MemberRemoved(GroupId(member.group), PrincipalId(member.user)))

    def _impact(self, change: Change) -> List:
        def call() -> list[str]:
            changed = analyze_changes(self._engine, (change,), NOW).flips()
            lost = (each for each in changed if each.ability.action == ON_TABLE[_READER] and not each.allowed)
            return [_pair(each.principal, each.resource) for each in lost]

        return call


def analysis_sample(organization: Organization, checks: Sample) -> Sample:
    """Return the cases of the analyses: the checks on tables to explain, and changes with the tables that users would lose."""
    chance = random.Random(3)  # noqa: S311 - the same changes each time
    small = {group for group, users in organization.groups.items() if len(users) <= _MOST_MEMBERS}
    who = small.union(organization.users)
    grants = [each for each in organization.grants if each.place in organization.layer_of and each.subject in who]
    members = [Membership(group, user) for group, users in organization.groups.items() for user in users]
    return {
        "explain_allow": [each for each in checks["table"] if each.right is True],
        "explain_deny": [each for each in checks["table"] if each.right is False],
        "revoke_impact": _changes(organization, chance.sample(grants, min(_CASES, len(grants)))),
        "leave_impact": _changes(organization, chance.sample(members, min(_CASES, len(members)))),
    }


def _changes(organization: Organization, changes: list[Grant] | list[Membership]) -> list[Case]:
    worked_out = [Case(each, _lost(organization, each)) for each in changes[:_WORKED_OUT]]
    return worked_out + [Case(each) for each in changes[_WORKED_OUT:]]


def _lost(organization: Organization, change: Grant | Membership) -> frozenset[str]:
    """Return the users, each with a table that the user can read only until the grant or membership ends."""
    if isinstance(change, Grant):
        users, tables = organization.groups.get(change.subject, (change.subject,)), {change.place}
    else:
        held = {each.place for each in organization.grants if each.subject == change.group}
        users, layers = (change.user,), organization.layer_of
        tables = {table for table, layer in layers.items() if table in held or layer in held}
    places = tables | {organization.layer_of[table] for table in tables}
    near = replace(organization, grants=tuple(each for each in organization.grants if each.place in places))
    before, after = Oracle(near), Oracle(_without(near, change))
    asked = (Question(user, _READER, table) for user in users for table in tables)
    return frozenset(_pair(each.user, each.resource) for each in asked if before.allows(each) > after.allows(each))


def _without(organization: Organization, change: Grant | Membership) -> Organization:
    if isinstance(change, Grant):
        return replace(organization, grants=tuple(each for each in organization.grants if each != change))
    rest = tuple(user for user in organization.groups[change.group] if user != change.user)
    return replace(organization, groups={**organization.groups, change.group: rest})


def _pair(user: str, table: str) -> str:
    return f"{user} {table}"


def _asked(question: Question) -> Asked:
    return Asked(Caller(PrincipalId(question.user)), ON_TABLE[question.level], ResourceId(question.resource))
