"""The engine: decides exactly as the reference does, on a snapshot of which it compiles the parts that questions need.

It has no visible state. It caches its results, and the engine of the next revision takes over all results that the
changes in between do not invalidate.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

from headgate.decision.caller_validity import caller_invalid
from headgate.decision.context import Models
from headgate.decision.engine.checks import MaskChecker, met
from headgate.decision.engine.compile import CompiledModels, compile_models
from headgate.decision.engine.grants import GrantIndex
from headgate.decision.engine.holders import HolderIndex
from headgate.decision.engine.holdings import HoldingsIndex
from headgate.decision.engine.instants import Instants, Period
from headgate.decision.engine.invalidation import Invalidation
from headgate.decision.engine.list_principals import PrincipalSearch
from headgate.decision.engine.list_resources import ResourceSearch
from headgate.decision.engine.positions import PositionIndex
from headgate.decision.engine.type_index import TypeIndex
from headgate.decision.reference import ASSIGNING, decide
from headgate.decision.run_scope import is_declared
from headgate.decision.types import Decision, Question
from headgate.facts.caller import Caller
from headgate.facts.changes import Change
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Resource, Snapshot


class EngineCaches(NamedTuple):
    """The caches of an engine, filled on demand."""

    compiled: CompiledModels
    grounds: PositionIndex
    holders: HoldingsIndex
    contents: TypeIndex
    rolls: HolderIndex
    instants: Instants


def _build_empty_caches(models: Models, facts: Snapshot, compiled: CompiledModels) -> EngineCaches:
    grounds = PositionIndex(models, compiled, facts)
    return EngineCaches(
        compiled,
        grounds,
        HoldingsIndex(facts, grounds, GrantIndex(compiled, facts, grounds)),
        TypeIndex(facts),
        HolderIndex(compiled, facts, grounds),
        Instants(facts),
    )


class Engine:
    """Decides questions on one snapshot, under the models in force."""

    def __init__(self, models: Models, facts: Snapshot, known: EngineCaches | None = None) -> None:
        """`known` are results of an earlier engine that are also valid for these facts; see `advance`."""
        known = known or _build_empty_caches(models, facts, compile_models(models))
        self.models = models
        self.facts = facts
        self._compiled, self._grounds, self._holders, self._contents, self._rolls, self._instants = known
        self._answering = MaskChecker(models, self._compiled, facts, self._grounds)
        home = models.get(facts.model)
        self._label = f"{home.name} {home.version}" if home else ""
        self._suspended = facts.is_suspended

    def check(self, question: Question, now: float) -> Decision:
        """Decide a question at a time (seconds since the epoch)."""
        return Decision(self._is_allowed(question, now), self.facts.revision, self._label, question)

    def check_many(self, questions: Sequence[Question], now: float) -> tuple[Decision, ...]:
        """Decide several questions, in their order."""
        return tuple(self.check(question, now) for question in questions)

    def list_resources(self, caller: Caller, action: str, now: float) -> tuple[ResourceId, ...]:
        """Return every resource on which the action is allowed, in arbitrary order."""
        if self._suspended:
            return ()
        asked = partial(Question, caller, action)
        candidates: Iterable[ResourceId] = self.facts.resources
        if self._compiled.foreseen and action not in ASSIGNING:
            held = self._holders.of(caller.principal, now)
            candidates = (
                ResourceSearch(self._answering, self._contents, held, now).find_resources(action) if held.exists else ()
            )
            if caller.token is None and caller.run is None:
                return tuple(candidates)
        return tuple(id for id in candidates if self._is_allowed(asked(id), now))

    def list_principals(self, action: str, resource: ResourceId, now: float) -> frozenset[PrincipalId]:
        """Return every principal that may perform the action, without a token or run, and without further parameters."""
        found = self.facts.resources.get(resource)
        if found is None or self._suspended:
            return frozenset()
        if self._compiled.foreseen and action not in ASSIGNING:
            return PrincipalSearch(self._answering, self._rolls, now, self._is_allowed).find_principals(action, found)
        people = self.facts.principals
        return frozenset(id for id in people if self._is_allowed(Question(Caller(id), action, resource), now))

    def is_discoverable(self, caller: Caller, resource: ResourceId, now: float) -> bool:
        """Whether the caller may know that the resource exists."""
        found = self.facts.resources.get(resource)
        rules = self._grounds.of(found).rules if found else None
        actions = rules.discovering[found.type] if rules and found else ()
        return any(self._is_allowed(Question(caller, action, resource), now) for action in actions)

    def period_at(self, now: float) -> Period:
        """Return a period that includes a time, and in which every decision on these facts stays the same; or `NO_PERIOD`."""
        return self._instants.period_at(now)

    def add_instants(self, changes: Iterable[Change]) -> None:
        """Add the instants of changes that were written, which `period_at` has to know."""
        self._instants.add(changes)

    def advance(self, changes: Iterable[Change], facts: Snapshot) -> "Engine":
        """Return the engine for the facts after these changes. It takes over all results that they do not invalidate."""
        touched = Invalidation(self._compiled, self.facts, facts, changes)
        if touched.everything:
            return self.with_facts(facts)
        grounds, contents = self._grounds, self._contents
        if facts.resources is not self.facts.resources:
            grounds, contents = grounds.advance(facts, touched), contents.advance(facts, touched)
        holders, rolls = self._holders.advance(facts, grounds, touched), self._rolls.advance(facts, grounds, touched)
        return Engine(
            self.models, facts, EngineCaches(self._compiled, grounds, holders, contents, rolls, self._instants)
        )

    def with_facts(self, facts: Snapshot) -> "Engine":
        """Return the engine for any other facts under the same models; it takes over the compiled models."""
        return Engine(self.models, facts, _build_empty_caches(self.models, facts, self._compiled))

    def _is_allowed(self, question: Question, now: float) -> bool:
        if self._suspended:
            return False
        caller, id = question.caller, question.resource
        ground = self._grounds.near.get(id)
        plan = ground.bare.get(question.action) if ground else None
        if plan is None or not (caller.token is caller.run is None or self._is_unrestricted(caller, now)):
            return self._is_allowed_in_full(question, now)
        held = self._holders.near.get(caller.principal)
        if held is None or not held.since <= now < held.until:
            held = self._holders.of(caller.principal, now)
        return met(plan, id, held.at) or (
            question.action in self._compiled.bridged and self._is_allowed_in_full(question, now)
        )

    def _is_unrestricted(self, caller: Caller, now: float) -> bool:
        """Whether the token is valid and not narrowed."""
        token = self.facts.tokens.get(caller.token) if caller.token and caller.run is None else None
        return (
            token is not None
            and token.only is None
            and token.actions is None
            and token.acts_in is None
            and token.principal == caller.principal
            and (token.ends is None or now < token.ends)
        )

    def _is_allowed_in_full(self, question: Question, now: float) -> bool:
        caller, resource = question.caller, self.facts.resources.get(question.resource)
        if not self._compiled.foreseen or self._is_acting(question):
            return decide(self.models, self.facts, question, now).allowed
        if resource is None or caller_invalid(self.facts, caller, now):
            return False
        self._grounds.of(resource).bare_plan(question.action)
        if not self._is_in_scope(question, resource):
            return False
        held = self._holders.of(caller.principal, now)
        return self._answering.allows(held, question, resource, now) and self._allowed_by_restriction(
            question, resource, now
        )

    def _is_acting(self, question: Question) -> bool:
        """Whether the team in which the caller's token acts matters for the action."""
        token = self.facts.tokens.get(question.caller.token) if question.caller.token else None
        return token is not None and token.acts_in is not None and question.action in self._compiled.acting

    def _is_in_scope(self, question: Question, resource: Resource) -> bool:
        """Whether the run, if any, declares the action, and the token, if any, includes it in its actions."""
        caller, action = question.caller, question.action
        token = self.facts.tokens[caller.token] if caller.token else None
        if token and token.actions is not None and action not in token.actions:
            return False
        return caller.run is None or is_declared(self.facts, caller.run, action, resource)

    def _allowed_by_restriction(self, question: Question, resource: Resource, now: float) -> bool:
        """Whether a holder of every role on the resources that the token lists, and of no other role, may do it, too."""
        caller = question.caller
        token = self.facts.tokens[caller.token] if caller.token else None
        if token is None or token.only is None:
            return True
        held = self._holders.with_everything(caller.principal, token.only)
        rules = self._grounds.of(resource).rules
        allowed = self._answering.allows(held, question, resource, now)
        return allowed and rules is not None and self._answering.holds(held, rules, resource, rules.any_role)
