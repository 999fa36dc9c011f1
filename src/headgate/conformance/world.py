"""A scenario's world: the logs that it consists of, who can act in them, and the time.

Each root of the tree is a log of its own: the deployment, where the people and the organizations are, and each
organization. A question goes to the log that its resource lies in; whoever is not in that log is nobody there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from headgate.conformance.errors import ScenarioError
from headgate.conformance.explain import explain_decision
from headgate.conformance.language import Language
from headgate.control.kernel.command import Command, CommandContext, PermissionDeniedError, evaluate
from headgate.control.kernel.errors import CommandError
from headgate.control.kernel.log_follower import EngineFactory
from headgate.control.kernel.parsing import JsonObject
from headgate.decision.context import Models
from headgate.decision.evaluator import Answers
from headgate.facts import changes as c
from headgate.facts.caller import Caller
from headgate.facts.fold import fold
from headgate.facts.ids import PrincipalId, ResourceId, TokenId
from headgate.facts.snapshot import Snapshot

ORGANIZATION, DEPLOYMENT = "organization", "deployment"
ROOTS = (ORGANIZATION, DEPLOYMENT)
"""The types that have a log of their own."""

Log = ResourceId
"""A log goes by the id of its root."""


@dataclass(frozen=True, slots=True)
class World:
    """A world at one moment; a step returns the next one.

    `users` are the people as the file states them, `ids` whatever is or will be something, `places` in which log each
    lies, `types` of which type of the tree it is, `tokens` who acts by which token. None forgets what is gone.
    `history` are the changes of each log, from its beginning.
    """

    language: Language
    start: EngineFactory
    now: float
    users: tuple[JsonObject, ...]
    ids: frozenset[str]
    engines: Mapping[Log, Answers] = field(default_factory=dict[Log, Answers])
    history: Mapping[Log, tuple[c.Change, ...]] = field(default_factory=dict[Log, tuple[c.Change, ...]])
    places: Mapping[str, Log] = field(default_factory=dict[str, Log])
    types: Mapping[str, str] = field(default_factory=dict[str, str])
    tokens: Mapping[str, PrincipalId] = field(default_factory=dict[str, PrincipalId])

    @property
    def models(self) -> Models:
        """The models in force: the one that the scenario is about."""
        return {self.language.model.name: self.language.model}

    def facts(self, log: Log) -> Snapshot:
        """Return the newest snapshot of a log."""
        return self.engines[log].facts

    def place(self, id: str) -> Log:
        """Return the log that an id lies in. Raises `ScenarioError` for one that nobody declared."""
        if id not in self.places:
            raise ScenarioError(f"nothing of the id `{id}` was declared")
        return self.places[id]

    def organizations(self) -> tuple[Log, ...]:
        """Return the logs that are organizations."""
        return tuple(log for log in self.engines if self.types[log] == ORGANIZATION)

    def homes(self, principal: PrincipalId) -> tuple[Log, ...]:
        """Return the logs that have this principal."""
        return tuple(log for log, engine in self.engines.items() if principal in engine.facts.principals)

    def caller(self, actor: str) -> Caller:
        """Return who acts: a person or key, or a token's principal through that token."""
        if actor in self.tokens:
            return Caller(self.tokens[actor], TokenId(actor))
        return Caller(PrincipalId(actor))

    def with_log(self, root: Log, type: str, changes: Sequence[c.Change]) -> "World":
        """Return the world with one more log, which begins with these changes."""
        engine = self.start(self.models, fold(Snapshot(), changes, 1))
        history = {**self.history, root: tuple(changes)}
        world = replace(self, engines={**self.engines, root: engine}, history=history)
        return world.with_known_ids(root, changes).with_id(root, type, root)

    def with_changes(self, log: Log, changes: Sequence[c.Change]) -> "World":
        """Return the world in which these changes were written to a log."""
        if not changes:
            return self
        old = self.engines[log]
        new = old.advance(changes, fold(old.facts, changes, old.facts.revision + 1))
        history = {**self.history, log: (*self.history[log], *changes)}
        return replace(self, engines={**self.engines, log: new}, history=history).with_known_ids(log, changes)

    def execute(self, log: Log, command: Command, caller: Caller | None) -> "World":
        """Return the world after a command. Raises `ScenarioError` if it is refused; `caller` None is the system."""
        try:
            plan = evaluate(command, CommandContext(self.engines[log], caller, self.now))
        except PermissionDeniedError as error:
            raise ScenarioError(
                f"the step `{command.name}` was refused: {explain_decision(error.explanation.decision)}"
            ) from None
        except CommandError as error:
            raise ScenarioError(f"the step `{command.name}` was refused: {error}") from None
        return self.with_changes(log, plan.changes)

    def with_known_ids(self, log: Log, changes: Sequence[c.Change]) -> "World":
        """Return the world in which the ids that these changes make are known, as far as they were not."""
        world = self
        for change in changes:
            made = _find_created(change)
            if made is not None and made[0] not in world.places:
                world = world.with_id(*made, log)
            if isinstance(change, c.TokenIssued):
                world = replace(world, tokens={**world.tokens, change.token: change.principal})
        return world

    def with_id(self, id: str, type: str, log: Log) -> "World":
        """Return the world in which an id is known."""
        return replace(self, ids=self.ids | {id}, places={**self.places, id: log}, types={**self.types, id: type})


def _find_created(change: c.Change) -> tuple[str, str] | None:
    """Return the id of what a change makes, with its type; None if it makes nothing that can be asked about."""
    made: tuple[str, str] | None = None
    match change:
        case c.ResourceCreated():
            made = change.resource, change.type
        case c.GroupCreated():
            made = change.group, "group"
        case c.PrincipalAdded(kind="service_principal"):
            made = change.principal, change.kind
        case c.TokenIssued():
            made = change.token, "token"
        case c.AccessRequested():
            made = change.access, "access"
        case c.ChangeRequested():
            made = change.request, "change_request"
        case _:
            pass
    return made
