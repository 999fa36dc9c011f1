"""Log follower: answers questions on the newest facts of a log, and reads the entries that other processes write."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from headgate.control.kernel.model_source import ModelSource
from headgate.control.kernel.ports import Head, LogRefusedError, LogWrite, Store, StoreError, UnreadableLogError
from headgate.control.kernel.replay import ForkError, entries_after, replay
from headgate.decision.context import Models
from headgate.decision.evaluator import Answers
from headgate.facts.changes import Change
from headgate.facts.fold import fold
from headgate.facts.snapshot import Snapshot

EngineFactory = Callable[[Models, Snapshot], Answers]
"""Creates an engine on the facts of a log."""

RETRY_SECONDS: Final = 60.0
"""Seconds after which a log that cannot be read is read again."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FollowedState:
    """The engine, the newest entry that it knows, and how often the log was reopened because it had lost entries."""

    engine: Answers
    head: Head
    reopened: int = 0


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why every question is refused, and when (seconds since the epoch) the log is read again."""

    why: str
    until: float


class LogFollower:
    """The newest facts of one log.

    If the log has lost entries that this process knows, it is reopened. While it cannot be read, no question is answered.
    """

    def __init__(self, store: Store, models: ModelSource, clock: Callable[[], float], start: EngineFactory) -> None:
        """Read the log. Raises `StoreError` if that fails."""
        self._store = store
        self._models = models
        self._clock = clock
        self._start = start
        found = replay(store)
        self.kept = found.kept
        """The revision of the newest checkpoint that this process knows."""
        self._known = FollowedState(self.start(found.facts), found.head)
        self._refusal: _Refusal | None = None

    @property
    def followed(self) -> FollowedState:
        """The state that answers questions now. Raises `LogRefusedError` while no question may be answered."""
        refusal = self._refusal
        if refusal is not None:
            raise LogRefusedError(refusal.why)
        return self._known

    @property
    def head(self) -> Head:
        """The newest known entry, also while no question may be answered."""
        return self._known.head

    @property
    def is_refused(self) -> bool:
        """Whether no question may be answered now."""
        return self._refusal is not None

    @property
    def name(self) -> str:
        """The id of the organization whose log it is, for messages."""
        return self._known.engine.facts.organization or ""

    def start(self, facts: Snapshot) -> Answers:
        """Return a new engine on these facts, under the models in force. Raises `StoreError` if a model is not stored."""
        return self._start(self._models.in_force(facts), facts)

    def advance(self, engine: Answers, changes: Sequence[Change], revision: int) -> Answers:
        """Return the engine after these changes; a new one if they put another model, or another version of one, in force."""
        after = fold(engine.facts, changes, revision)
        is_same = after.model_hashes == engine.facts.model_hashes
        return engine.advance(changes, after) if is_same else self.start(after)

    def is_at(self, head: Head) -> bool:
        """Return whether this entry is the newest known one and questions may be answered."""
        return self._refusal is None and self._known.head == head

    def append(self, drafts: Sequence[LogWrite], engine: Answers) -> None:
        """Append drafts after the newest known entry; `engine` answers questions from then on.

        Raises the errors of `Store.append`; then nothing is written.
        """
        head = self._store.append(self._known.head, *drafts)
        engine.add_instants(chain.from_iterable(draft.changes for draft in drafts))
        self._known = replace(self._known, engine=engine, head=head)

    def catch_up(self) -> None:
        """Read the entries that other processes have written. Two threads must not call it at the same time.

        Raises `LogRefusedError` if the log cannot be read: then no question is answered until a later call has read it.
        """
        refusal = self._refusal
        if refusal is not None and self._clock() < refusal.until:
            raise LogRefusedError(refusal.why)
        try:
            self._take_over()
        except Exception as error:
            raise self._refuse(error) from error
        self._refusal = None

    def _take_over(self) -> None:
        try:
            for entry in entries_after(self._store, self._known.head):
                self._advance(entry.changes, entry.head)
        except ForkError:
            self._reopen()

    def _advance(self, changes: Sequence[Change], head: Head) -> None:
        engine = self.advance(self._known.engine, changes, head.revision)
        engine.add_instants(changes)
        self._known = replace(self._known, engine=engine, head=head)

    def _reopen(self) -> None:
        """Read the whole log again after it has lost entries that this process knows; nothing is answered with the lost entries."""
        lost = self._known
        self._refusal = _Refusal(
            f"the log of the organization `{self.name}` has lost entries, and the server is reading it again; retry the request",
            0.0,
        )
        found = replay(self._store)
        log.warning(
            "the log of the organization `%s` has lost acknowledged entries: this process knew revision %d, but the newest in the "
            "store is revision %d, which is used now; check whether an older copy of the store was restored",
            *(self.name, lost.head.revision, found.head.revision),
        )
        self.kept = found.kept
        self._known = FollowedState(self.start(found.facts), found.head, lost.reopened + 1)

    def _refuse(self, error: Exception) -> LogRefusedError:
        """Refuse every question from now on. A log with unreadable content is not read again at every question."""
        passes = isinstance(error, StoreError) and not isinstance(error, UnreadableLogError)
        why = (
            f"the log of the organization `{self.name}` cannot be read ({error}); ask the operator of this deployment to check "
            "the server's log"
        )
        self._refusal = _Refusal(why, 0.0 if passes else self._clock() + RETRY_SECONDS)
        log.error(
            "every request to the organization `%s` is refused, because its log cannot be read",
            self.name,
            exc_info=error,
        )
        return LogRefusedError(why)
