"""The roles for the privileges of a case: under the atomic model a role is one action."""

from collections.abc import Iterable
from dataclasses import dataclass

from headgate.control.control import Control
from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.facts.changes import RoleAssigned, RoleRevoked
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Snapshot
from tools.bypass_corpus.cases import Need
from tools.bypass_corpus.organization_setup import LAKE

_ON_ROWS = {"read": ("table.select",), "write": ("table.insert", "table.update", "table.delete_rows")}
_CREATE = {LAKE: ("lake.create_database",)}
_CREATE_BELOW = ("database.create_table", "database.create_view")
_TYPES = ("lake", "database", "table")

Held = tuple[str, ResourceId]
"""A role, and the resource on which it is assigned."""


def everything(control: Control) -> frozenset[Held]:
    """Return every role that can be assigned on the lake."""
    lake = _nearest(control.snapshot, (LAKE,))
    return frozenset((role.name, lake) for role in control.model.roles.values() if "lake" in role.on)


def meant(facts: Snapshot, needs: Iterable[Need]) -> frozenset[Held]:
    """Return the roles for exactly these privileges. For a missing object, the roles are on its nearest existing parent."""
    return frozenset(
        (action, _nearest(facts, tuple(place.split(".")))) for verb, place in needs for action in _actions(verb, place)
    )


def covers(facts: Snapshot, rest: Iterable[Need], need: Need) -> bool:
    """Whether the other privileges imply `need`, so that it cannot be withheld."""
    held = meant(facts, rest)
    return all(
        any((role, place) in held for place in (here, *(above.id for above in facts.ancestors(here))))
        for role, here in meant(facts, [need])
    )


def hold(control: Control, name: str, held: Iterable[Held]) -> None:
    """Set the roles of a user to exactly `held`."""
    wanted = frozenset(held)
    if wanted != _held(control.snapshot, PrincipalId(name)):
        control.execute(_Hold(PrincipalId(name), wanted), None)


@dataclass(frozen=True, slots=True)
class _Hold:
    """A command that sets the roles of a principal to exactly these, in one revision."""

    principal: PrincipalId
    held: frozenset[Held]
    name: str = "bypass.hold"

    def decide(self, view: CommandContext) -> CommandEffect:
        before = _held(view.facts, self.principal)
        taken = (RoleRevoked(self.principal, role, place) for role, place in sorted(before - self.held))
        given = (
            RoleAssigned(self.principal, role, place, view.model.name) for role, place in sorted(self.held - before)
        )
        return CommandEffect((*taken, *given))


def _held(facts: Snapshot, principal: PrincipalId) -> frozenset[Held]:
    return frozenset((role, place) for role, place, _ in facts.assignments.get(principal, ()))


def _actions(verb: str, place: str) -> tuple[str, ...]:
    if verb == "create":
        return _CREATE.get(place, _CREATE_BELOW)
    type = _TYPES[min(place.count("."), len(_TYPES) - 1)]
    return _ON_ROWS.get(verb, (f"{type}.{verb}",))


def _nearest(facts: Snapshot, names: tuple[str, ...]) -> ResourceId:
    """Return the resource of the longest existing prefix of a name. Raises `LookupError` if not even the lake exists."""
    for length in range(len(names), 0, -1):
        there = facts.find(names[:length])
        if there is not None:
            return there.id
    raise LookupError(f"there is no lake of `{'.'.join(names)}`")
