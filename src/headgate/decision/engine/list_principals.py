"""Search for principals: all that may perform an action, by sets of holders instead of one check for each."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from headgate.decision.engine.checks import MaskChecker, list_named_subjects
from headgate.decision.engine.compile import CompiledModel
from headgate.decision.engine.holders import HolderIndex, Principals
from headgate.decision.engine.position import MaskRequirement, Position
from headgate.decision.engine.validity import ValidityWindow
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId
from headgate.facts.snapshot import Resource

_NOBODY: Principals = frozenset()


@dataclass(frozen=True, slots=True)
class PrincipalSearch:
    """A search for principals; `allowed` decides about each one if roles alone do not suffice."""

    answering: MaskChecker
    rolls: HolderIndex
    now: float
    allowed: Callable[[Question, float], bool]

    def find_principals(self, action: str, resource: Resource) -> Principals:
        """Return every principal that may perform the action on the resource."""
        ground = self.answering.grounds.of(resource)
        if ground.rules is None:
            return _NOBODY
        acting = frozenset(self._find_acting(action, resource, ground, ground.rules))
        bridged = action in self.answering.compiled.bridged
        return acting | self._find_bridged(action, resource) if bridged else acting

    def _find_acting(
        self, action: str, resource: Resource, ground: Position, rules: CompiledModel
    ) -> Iterable[PrincipalId]:
        act = rules.acts.get(action)
        if act is None or act.type != resource.type:
            return _NOBODY
        everybody = self.answering.facts.principals
        people = self._find_meeting(ground.plan(rules, act.wanted), resource) if act.wanted else everybody
        if act.ways is None:
            return people
        return (each for each in people if self.allowed(Question(Caller(each), action, resource.id), self.now))

    def _find_bridged(self, action: str, resource: Resource) -> Principals:
        found = _NOBODY
        for port, rules, role in self.answering.bridges(action, resource):
            plan = self.answering.grounds.of(port).plan(rules, rules.get_role_set((role,)))
            found |= self._find_meeting(plan, port)
        return found

    def _find_meeting(self, plan: MaskRequirement, resource: Resource) -> Principals:
        """Return all principals that satisfy a plan for the resource."""
        marks = ((resource.id, plan.own), *plan.above)
        found = _NOBODY.union(
            *(each for place, mask in marks for each in self.rolls.holders_with(place, mask, self.now))
        )
        if plan.named:
            found |= self._select_existing(
                each for relation in plan.named for each in list_named_subjects(resource, relation) if each
            )
        there = self.answering.facts.resources
        for plans in plan.least:
            if plans:
                found |= frozenset[PrincipalId].intersection(
                    *(self._find_meeting(each, there[id]) for id, each in plans)
                )
        return found

    def _select_existing(self, people: Iterable[str]) -> Principals:
        known = ((PrincipalId(each), self.answering.facts.principals.get(PrincipalId(each))) for each in people)
        return frozenset(each for each, found in known if found and ValidityWindow(self.now).exists(found))
