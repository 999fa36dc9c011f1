"""The one way to write: decide on the newest snapshot, append if it is still the newest, else decide again."""

import threading
from collections.abc import Callable

from headgate.control.command import Command, Plan, UnknownCallerError, View
from headgate.control.ports import Draft, RevisionConflictError, Store
from headgate.decision.asked import Models, not_standing
from headgate.decision.explain import explain
from headgate.decision.records import Decision, Explanation, Question
from headgate.decision.reference import decide, discoverable
from headgate.facts.caller import Caller
from headgate.facts.fold import fold
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot
from headgate.model.model import Model


class Control:
    """Commands and questions of one organization, over its store. Safe to use from several threads."""

    def __init__(self, store: Store, model: Model, clock: Callable[[], float]) -> None:
        self._store = store
        self._model = model
        self._models: Models = {model.name: model}
        self._clock = clock
        self._lock = threading.Lock()
        self._snapshot = Snapshot()
        self._catch_up()

    @property
    def model(self) -> Model:
        """The home model."""
        return self._model

    @property
    def models(self) -> Models:
        """The models in force, by name."""
        return self._models

    @property
    def snapshot(self) -> Snapshot:
        """The newest snapshot."""
        return self._snapshot

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
                plan = command.plan(view)
                try:
                    self._write(command, view, plan)
                except RevisionConflictError:
                    self._catch_up()
                    continue
                return self._snapshot

    def preview(self, command: Command, caller: Caller | None) -> Plan:
        """Decide a command and write nothing."""
        return command.plan(self._view(caller))

    def ask(self, question: Question) -> Decision:
        """Answer a question on the newest facts."""
        return decide(self._models, self._snapshot, question, self._clock())

    def explain(self, question: Question) -> Explanation:
        """Answer a question with its reasons and fixes."""
        return explain(self._models, self._snapshot, question, self._clock())

    def require(self, question: Question) -> None:
        """Raise `RefusedError` unless the question is answered with allow on the newest facts."""
        self._view(question.caller).require(question)

    def sees(self, caller: Caller, resource: ResourceId) -> bool:
        """Say whether the caller may discover the resource."""
        return discoverable(self._models, self._snapshot, caller, resource, self._clock())

    def _view(self, caller: Caller | None) -> View:
        now = self._clock()
        if caller is not None and not_standing(self._snapshot, caller, now):
            raise UnknownCallerError("the token or run has ended; ask for a new one")
        return View(self._model, self._models, self._snapshot, caller, now)

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
        self._snapshot = after

    def _catch_up(self) -> None:
        snapshot = self._snapshot
        for entry in self._store.entries(snapshot.revision):
            snapshot = fold(snapshot, entry.changes, entry.revision)
        self._snapshot = snapshot
