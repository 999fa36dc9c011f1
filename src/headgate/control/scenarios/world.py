"""A scenario's world: the logs that it consists of, who can act in them, and the time.

Each root of the tree is a log of its own: the deployment, where the people and the organizations are, and each
organization. A question goes to the log that its resource lies in; whoever is not in that log is nobody there.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from headgate.control.scenarios.language import Language
from headgate.control.scenarios.values import Entry, ScenarioError
from headgate.decision.asked import Models
from headgate.decision.records import Decision, Question
from headgate.decision.reference import decide
from headgate.facts.caller import Caller
from headgate.facts.changes import Change
from headgate.facts.fold import fold
from headgate.facts.ids import PrincipalId, ResourceId, TokenId
from headgate.facts.snapshot import Snapshot

ORGANIZATION, DEPLOYMENT = "organization", "deployment"
ROOTS = (ORGANIZATION, DEPLOYMENT)
"""The types that have a log of their own."""


class Answers(Protocol):
    """Whatever answers questions on one snapshot: the engine, or the reference behind the same calls."""

    def check(self, question: Question, now: float) -> Decision:
        """Answer a question at a time (seconds since the epoch)."""
        ...

    def advance(self, changes: Iterable[Change], facts: Snapshot, /) -> "Answers":
        """Return what answers on the snapshot that the changes led to."""
        ...


@dataclass(frozen=True, slots=True)
class Reference:
    """The reference, asked like an engine."""

    models: Models
    facts: Snapshot

    def check(self, question: Question, now: float) -> Decision:
        """Answer a question at a time (seconds since the epoch)."""
        return decide(self.models, self.facts, question, now)

    def advance(self, _: Iterable[Change], facts: Snapshot) -> "Reference":
        """Return the reference on other facts."""
        return Reference(self.models, facts)


Start = Callable[[Models, Snapshot], Answers]
"""How an engine begins, on the facts of a log."""


@dataclass(frozen=True, slots=True)
class Log:
    """One log: its facts at the moment, and what answers on them."""

    facts: Snapshot
    answers: Answers


@dataclass(frozen=True, slots=True)
class World:
    """A world at one moment; a step returns the next one.

    `users` are the people as the file states them, `ids` whatever is or will be something, `places` in which log each
    lies, `types` of which type of the tree it is, `tokens` who acts by which token. None forgets what is gone.
    """

    language: Language
    start: Start
    now: float
    users: tuple[Entry, ...]
    ids: frozenset[str]
    logs: Mapping[ResourceId, Log] = field(default_factory=dict[ResourceId, Log])
    places: Mapping[str, ResourceId] = field(default_factory=dict[str, ResourceId])
    types: Mapping[str, str] = field(default_factory=dict[str, str])
    tokens: Mapping[str, PrincipalId] = field(default_factory=dict[str, PrincipalId])

    @property
    def models(self) -> Models:
        """The models in force: the one that the scenario is about."""
        return {self.language.model.name: self.language.model}

    def facts(self, log: ResourceId) -> Snapshot:
        """Return the newest snapshot of a log."""
        return self.logs[log].facts

    def place(self, id: str) -> ResourceId:
        """Return the log that an id lies in. Raises `ScenarioError` for one that nobody declared."""
        if id not in self.places:
            raise ScenarioError(f"nothing of the id `{id}` was declared")
        return self.places[id]

    def homes(self, principal: str) -> tuple[ResourceId, ...]:
        """Return the logs in which somebody is a principal."""
        return tuple(log for log, each in self.logs.items() if PrincipalId(principal) in each.facts.principals)

    def caller(self, actor: str) -> Caller:
        """Return who acts: a person or key, or a token's principal through that token."""
        if actor in self.tokens:
            return Caller(self.tokens[actor], TokenId(actor))
        return Caller(PrincipalId(actor))

    def begun(self, root: str, type: str, changes: Sequence[Change]) -> "World":
        """Return the world with a log more."""
        log = Log(facts := fold(Snapshot(), changes, 1), self.start(self.models, facts))
        return replace(self, logs={**self.logs, ResourceId(root): log}).declared(root, type, ResourceId(root))

    def declared(self, id: str, type: str, log: ResourceId) -> "World":
        """Return the world in which an id is known."""
        return replace(self, ids=self.ids | {id}, places={**self.places, id: log}, types={**self.types, id: type})

    def acting(self, token: str, principal: PrincipalId) -> "World":
        """Return the world in which whoever holds this token acts as the principal."""
        return replace(self, ids=self.ids | {token}, tokens={**self.tokens, token: principal})

    def written(self, log: ResourceId, changes: Sequence[Change]) -> "World":
        """Return the world in which these changes were written to a log."""
        if not changes:
            return self
        old = self.logs[log]
        facts = fold(old.facts, changes, old.facts.revision + 1)
        new = Log(facts, old.answers.advance(changes, facts))
        return replace(self, logs={**self.logs, log: new})
