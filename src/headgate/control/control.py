"""Commands and questions of one organization: answered on its newest snapshot, and written to its log."""

import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache

from headgate.control.command_writer import CommandWriter, WriteResult, build_context
from headgate.control.kernel.command import Command, CommandContext, CommandEffect, PermissionDeniedError
from headgate.control.kernel.errors import NotFoundError
from headgate.control.kernel.log_follower import EngineFactory, LogFollower
from headgate.control.kernel.metadata import INTERNAL, CommandMetadata
from headgate.control.kernel.metrics import CommandCounts
from headgate.control.kernel.model_source import ModelSource
from headgate.control.kernel.ports import Checkpoint, Head, Store
from headgate.control.kernel.replay import replay
from headgate.decision.context import Models
from headgate.decision.engine.engine import Engine
from headgate.decision.evaluator import Answers
from headgate.decision.types import Decision, Question
from headgate.facts import checkpoint
from headgate.facts.caller import Caller
from headgate.facts.changes import Change
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot
from headgate.model.model import Model

CHECKPOINT_EVERY = 1000
"""The number of revisions after the newest checkpoint at which the next one is written."""


@dataclass(frozen=True, slots=True)
class HistoricalView:
    """The answers on a past revision, and the time (seconds since the epoch) of that revision."""

    answers: Answers
    now: float


class Control:
    """Commands and questions of one organization, over its store. Safe to use from several threads.

    Every method raises `LogRefusedError` while the newest facts cannot be read: see `catch_up`.
    """

    def __init__(
        self, store: Store, models: ModelSource, clock: Callable[[], float], engine: EngineFactory = Engine
    ) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self.counts = CommandCounts()
        self._follower = LogFollower(store, models, clock, engine)
        self._writer = CommandWriter(store, self._follower, clock, self.counts, self._lock)
        self._pasts = lru_cache(maxsize=4)(self._past)

    @property
    def model(self) -> Model:
        """The home model. Raises `KeyError` before the organization is created."""
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
    def position(self) -> tuple[int, Head]:
        """The number of times the log was reopened, and its newest entry. Results computed at another position may be outdated."""
        known = self._follower.followed
        return known.reopened, known.head

    @property
    def head(self) -> Head:
        """The newest known entry of the log, also while every question is refused."""
        return self._follower.head

    @property
    def is_refused(self) -> bool:
        """Whether every question is refused, because the log cannot be read."""
        return self._follower.is_refused

    def require_readable(self) -> None:
        """Raise `LogRefusedError` if every question is refused."""
        _ = self._follower.followed

    def is_at(self, head: Head) -> bool:
        """Return whether questions are answered on the facts of this entry."""
        return self._follower.is_at(head)

    @property
    def answers(self) -> Answers:
        """The answers on the newest snapshot."""
        return self._engine

    def as_of(self, revision: int) -> Snapshot:
        """Return the facts of a past revision. Raises `NotFoundError` for a revision that does not exist yet."""
        newest = self.snapshot
        if revision > newest.revision:
            raise NotFoundError(
                f"the organization has no revision {revision} yet; use at most {newest.revision}, its newest revision, or retry later"
            )
        return newest if revision == newest.revision else replay(self._store, revision).facts

    def past(self, revision: int) -> HistoricalView:
        """Return the answers on a past revision. Raises `NotFoundError` if the revision does not exist."""
        return self._pasts(self._follower.followed.reopened, revision)

    def revision_at(self, at: float) -> int:
        """Return the revision that was the newest at a time. Raises `NotFoundError` if there was none."""
        revision = self._store.revision_at(at)
        if not revision:
            raise NotFoundError("the organization did not exist at the requested time; choose a later time")
        return revision

    def catch_up(self, head: Head | None = None) -> None:
        """Read the entries that other processes have written. `head` is the newest entry, None if it is not known.

        A log that has lost entries that this process knows is reopened. Raises `LogRefusedError` if it cannot be read; then
        every question is refused until a later call has read it.
        """
        if head is None or not self._follower.is_at(head):
            with self._lock:
                self._follower.catch_up()

    def write_checkpoint(self) -> None:
        """Write a checkpoint if the newest one is old, so that the next start has little to replay."""
        known, log = self._follower.followed, self._follower
        facts = known.engine.facts
        if facts.revision - log.kept < CHECKPOINT_EVERY:
            return
        entry = self._store.entry(facts.revision)
        if entry is not None and entry.head == known.head:
            self._store.put_checkpoint(Checkpoint(facts.revision, entry.at, checkpoint.dump_checkpoint(facts)))
            log.kept = facts.revision

    @property
    def now(self) -> float:
        """The current time of decisions, in seconds since the epoch."""
        return self._clock()

    def execute(self, command: Command, caller: Caller | None, call: CommandMetadata = INTERNAL) -> WriteResult:
        """Decide a command and write it.

        Raises a `CommandError` if it is refused, and `StoreError` if it cannot be written; then nothing is written. `caller` is
        None for the deployment itself.
        """
        return self._writer.execute(command, caller, call)

    def submit(self, command: Command, caller: Caller | None, call: CommandMetadata = INTERNAL) -> Future[WriteResult]:
        """Add a command to those that the next `write_submitted` writes. The future has the result, or raises as `execute` does."""
        return self._writer.submit(command, caller, call)

    def write_submitted(self) -> None:
        """Decide and write the commands that wait. Raises no error: their futures do."""
        self._writer.write_submitted()

    def preview(self, command: Command, caller: Caller | None, call: CommandMetadata = INTERNAL) -> CommandEffect:
        """Decide a command and write nothing."""
        view = replace(self.view(caller), is_preview=True)
        with self._counted():
            plan = self._writer.decide(command, view, call)
        self.counts.allowed += len(plan.decisions)
        return plan

    def ask(self, question: Question) -> Decision:
        """Answer a question on the newest facts."""
        decision = self._engine.check(question, self._clock())
        self.counts.count_decision(allowed=decision.allowed)
        return decision

    def require(self, question: Question) -> None:
        """Raise `PermissionDeniedError`, or `NotFoundError` for a hidden resource, unless it is allowed on the newest facts."""
        with self._counted():
            self.view(question.caller).require(question)
        self.counts.count_decision(allowed=True)

    def is_visible(self, caller: Caller, resource: ResourceId) -> bool:
        """Return whether the caller may discover the resource."""
        return self._engine.is_discoverable(caller, resource, self._clock())

    def simulate(self, answers: Answers, changes: Sequence[Change]) -> Answers:
        """Return the answers after these changes, which are not written; the models that they put in force decide."""
        return self._follower.advance(answers, changes, answers.facts.revision)

    def view(self, caller: Caller | None) -> CommandContext:
        """Return the context of a command of the caller, on the newest facts. Raises `CallerGoneError` or `SuspendedError`."""
        return build_context(self._engine, caller, self._clock())

    @contextmanager
    def _counted(self) -> Generator[None]:
        try:
            yield
        except PermissionDeniedError:
            self.counts.count_decision(allowed=False)
            raise

    @property
    def _engine(self) -> Answers:
        return self._follower.followed.engine

    def _past(self, _reopened: int, revision: int) -> HistoricalView:
        facts = self.as_of(revision)
        entry = self._store.entry(revision)
        if entry is None:
            raise NotFoundError(
                f"the organization's log has no revision {revision}; choose a revision from 1 to "
                f"{self.snapshot.revision}"
            )
        return HistoricalView(self._follower.start(facts), entry.at)
