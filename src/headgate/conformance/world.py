"""The world of a scenario: its logs, the principals in them, and the time.

Each root of the tree has its own log: the deployment, with the users and the organizations, and each organization. A question
goes to the log of its resource; a principal that is not in that log is unknown to it.
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
"""The id of a log: that of its root."""


@dataclass(frozen=True, slots=True)
class World:
    """An immutable world at one moment; a step returns the next world.

    `users` are the users as the file states them, `ids` all ids that exist or will be created, `places` the log of each id,
    `types` the type of each id, and `tokens` the principal of each token. None of them removes a deleted id. `history` are the
    changes of each log from its beginning.
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
        """The models in force: the model of the scenario."""
        return {self.language.model.name: self.language.model}

    def facts(self, log: Log) -> Snapshot:
        """Return the newest snapshot of a log."""
        return self.engines[log].facts

    def place(self, id: str) -> Log:
        """Return the log of an id. Raises `ScenarioError` for an undeclared id."""
        if id not in self.places:
            raise ScenarioError(f"the world declares no object with the id `{id}`; declare the object in the world")
        return self.places[id]

    def organizations(self) -> tuple[Log, ...]:
        """Return the logs of organizations."""
        return tuple(log for log in self.engines if self.types[log] == ORGANIZATION)

    def homes(self, principal: PrincipalId) -> tuple[Log, ...]:
        """Return the logs that have a principal."""
        return tuple(log for log, engine in self.engines.items() if principal in engine.facts.principals)

    def caller(self, actor: str) -> Caller:
        """Return the caller for an actor: a principal, or for a token its principal with that token."""
        if actor in self.tokens:
            return Caller(self.tokens[actor], TokenId(actor))
        return Caller(PrincipalId(actor))

    def with_log(self, root: Log, type: str, changes: Sequence[c.Change]) -> "World":
        """Return the world with a new log that begins with these changes."""
        engine = self.start(self.models, fold(Snapshot(), changes, 1))
        history = {**self.history, root: tuple(changes)}
        world = replace(self, engines={**self.engines, root: engine}, history=history)
        return world.with_known_ids(root, changes).with_id(root, type, root)

    def with_changes(self, log: Log, changes: Sequence[c.Change]) -> "World":
        """Return the world after these changes are written to a log."""
        if not changes:
            return self
        old = self.engines[log]
        new = old.advance(changes, fold(old.facts, changes, old.facts.revision + 1))
        history = {**self.history, log: (*self.history[log], *changes)}
        return replace(self, engines={**self.engines, log: new}, history=history).with_known_ids(log, changes)

    def execute(self, log: Log, command: Command, caller: Caller | None) -> "World":
        """Return the world after a command of `caller`; None is the system. Raises `ScenarioError` if it is refused."""
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
        """Return the world with the ids that these changes create, except those that are known already."""
        world = self
        for change in changes:
            made = _find_created(change)
            if made is not None and made[0] not in world.places:
                world = world.with_id(*made, log)
            if isinstance(change, c.TokenIssued):
                world = replace(world, tokens={**world.tokens, change.token: change.principal})
        return world

    def with_id(self, id: str, type: str, log: Log) -> "World":
        """Return the world with an id, its type and its log."""
        return replace(self, ids=self.ids | {id}, places={**self.places, id: log}, types={**self.types, id: type})


def _find_created(change: c.Change) -> tuple[str, str] | None:
    """Return the id and type of the object that a change creates; None if it creates no object of a question."""
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
