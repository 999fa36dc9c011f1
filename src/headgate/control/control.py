"""The one way to write: decide on the newest snapshot, append if it is still the newest, else decide again."""

import threading
from collections.abc import Callable

from headgate.control.command import Command, MissingError, Plan, UnknownCallerError, View, decided
from headgate.control.ports import Draft, RevisionConflictError, Store
from headgate.control.requests import open_requests
from headgate.decision.answers import Answers
from headgate.decision.asked import Models, not_standing
from headgate.decision.engine import Engine
from headgate.decision.explain import explain
from headgate.decision.records import Decision, Explanation, Question
from headgate.facts.caller import Caller
from headgate.facts.fold import fold
from headgate.facts.ids import RequestId, ResourceId
from headgate.facts.snapshot import Snapshot
from headgate.model.model import Model

Start = Callable[[Models, Snapshot], Answers]
"""How an engine begins, on the facts of a log."""


class Control:
    """Commands and questions of one organization, over its store. Safe to use from several threads."""

    def __init__(self, store: Store, models: Models, clock: Callable[[], float], engine: Start = Engine) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self._engine = engine(models, self._replayed(Snapshot(), None))

    @property
    def model(self) -> Model:
        """The home model. There is none before the organization is created: `KeyError`."""
        return self.models[self.snapshot.model]

    @property
    def models(self) -> Models:
        """The models in force, by name."""
        return self._engine.models

    @property
    def snapshot(self) -> Snapshot:
        """The newest snapshot."""
        return self._engine.facts

    @property
    def answers(self) -> Answers:
        """What answers every question on the newest snapshot."""
        return self._engine

    def as_of(self, revision: int) -> Snapshot:
        """Return the facts of a past revision, by what was written up to it. Raises `MissingError` for a later one."""
        newest = self.snapshot
        if revision > newest.revision:
            raise MissingError(f"there is no revision {revision} yet; the newest is {newest.revision}")
        return newest if revision == newest.revision else self._replayed(Snapshot(), revision)

    @property
    def now(self) -> float:
        """The time of a question asked now, in seconds since the epoch."""
        return self._clock()

    def execute(self, command: Command, caller: Caller | None) -> Snapshot:
        """Decide a command and write it; returns the snapshot that it gave.

        Raises a `CommandError` if it is refused; then nothing is written. `caller` is None for the deployment itself.
        """
        with self._lock:
            while True:
                view = self._view(caller)
                plan = decided(command, view)
                try:
                    self._write(command, view, plan)
                except RevisionConflictError:
                    self._catch_up()
                    continue
                return self.snapshot

    def preview(self, command: Command, caller: Caller | None) -> Plan:
        """Decide a command and write nothing."""
        return decided(command, self._view(caller))

    def waiting(self, caller: Caller) -> tuple[RequestId, ...]:
        """Return the requests that the caller could approve, at least in part."""
        return tuple(open_requests(self._view(caller)))

    def ask(self, question: Question) -> Decision:
        """Answer a question on the newest facts."""
        return self._engine.check(question, self._clock())

    def explain(self, question: Question) -> Explanation:
        """Answer a question with its reasons and fixes."""
        engine = self._engine
        return explain(engine.models, engine.facts, question, self._clock(), engine)

    def require(self, question: Question) -> None:
        """Raise `RefusedError`, or `MissingError` for what is hidden, unless it is allowed on the newest facts."""
        self._view(question.caller).require(question)

    def sees(self, caller: Caller, resource: ResourceId) -> bool:
        """Say whether the caller may discover the resource."""
        return self._engine.discoverable(caller, resource, self._clock())

    def _view(self, caller: Caller | None) -> View:
        engine, now = self._engine, self._clock()
        if caller is not None and not_standing(engine.facts, caller, now):
            raise UnknownCallerError("the token or run has ended; ask for a new one")
        return View(engine, caller, now)

    def _write(self, command: Command, view: View, plan: Plan) -> None:
        draft = Draft(
            at=view.now,
            actor=view.actor,
            command=command.name,
            changes=plan.changes,
            documents=plan.documents,
            pointers=plan.pointers,
        )
        after = fold(view.facts, plan.changes, view.facts.revision + 1)
        self._store.append(view.facts.revision, draft)
        self._engine = view.engine.advance(plan.changes, after)

    def _catch_up(self) -> None:
        for entry in self._store.entries(self.snapshot.revision):
            self._engine = self._engine.advance(entry.changes, fold(self.snapshot, entry.changes, entry.revision))

    def _replayed(self, snapshot: Snapshot, last: int | None) -> Snapshot:
        for entry in self._store.entries(snapshot.revision):
            if last is not None and entry.revision > last:
                break
            snapshot = fold(snapshot, entry.changes, entry.revision)
        return snapshot
