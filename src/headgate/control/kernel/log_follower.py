"""Follows a log: answers on its newest facts, and takes over what other processes write."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from headgate.control.kernel.ports import Head, LogRefusedError, LogWrite, Store, StoreError, UnreadableLogError
from headgate.control.kernel.replay import ForkError, entries_after, replay
from headgate.decision.context import Models
from headgate.decision.evaluator import Answers
from headgate.facts.changes import Change
from headgate.facts.fold import fold
from headgate.facts.snapshot import Snapshot

EngineFactory = Callable[[Models, Snapshot], Answers]
"""How an engine begins, on the facts of a log."""

RETRY_SECONDS: Final = 60.0
"""After so long a log that cannot be read is tried again."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FollowedState:
    """What answers, the newest entry that it knows, and how often the log was opened again because it had lost entries."""

    engine: Answers
    head: Head
    reopened: int = 0


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why every question is refused, and when (seconds since the epoch) the log is tried again."""

    why: str
    until: float


class LogFollower:
    """The newest facts of one log, for as long as the log goes on from them.

    Where it has lost entries that are known here, it is opened again. While it cannot be read, nothing is answered.
    """

    def __init__(self, store: Store, models: Models, clock: Callable[[], float], start: EngineFactory) -> None:
        """Read the log. Raises `StoreError` if that fails."""
        self._store = store
        self._clock = clock
        self._start = start
        found = replay(store)
        self.kept = found.kept
        """The revision of the newest checkpoint, as far as it is known here."""
        self._known = FollowedState(start(models, found.facts), found.head)
        self._refusal: _Refusal | None = None

    @property
    def followed(self) -> FollowedState:
        """What answers now. Raises `LogRefusedError` while nothing may be answered."""
        refusal = self._refusal
        if refusal is not None:
            raise LogRefusedError(refusal.why)
        return self._known

    @property
    def is_refused(self) -> bool:
        """Whether nothing may be answered."""
        return self._refusal is not None

    @property
    def name(self) -> str:
        """The id of the organization whose log it is, for messages."""
        return self._known.engine.facts.organization or ""

    def is_at(self, head: Head) -> bool:
        """Return whether this entry is the newest one that is known, and questions may be answered."""
        return self._refusal is None and self._known.head == head

    def append(self, draft: LogWrite, engine: Answers) -> None:
        """Write a draft behind the newest entry that is known; `engine` answers from then on.

        Raises what the store does; then nothing is written.
        """
        head = self._store.append(self._known.head, draft)
        self._known = replace(self._known, engine=engine, head=head)

    def catch_up(self) -> None:
        """Take over what other processes have written; no two threads may at once.

        Raises `LogRefusedError` if the log cannot be read: then nothing is answered until a later call has read it.
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
        engine = self._known.engine
        after = engine.advance(changes, fold(engine.facts, changes, head.revision))
        self._known = replace(self._known, engine=after, head=head)

    def _reopen(self) -> None:
        """Read all of the log, which has lost entries that are known here: nothing is answered with them."""
        lost = self._known
        self._refusal = _Refusal(f"entries of the log `{self.name}` are lost; it is read again", 0.0)
        found = replay(self._store)
        _check_model(lost.engine.facts, found.facts)
        log.warning(
            "the log `%s` has lost acknowledged entries: revision %d was read or written here and is not in the store; "
            "the log was read again, up to revision %d",
            *(self.name, lost.head.revision, found.head.revision),
        )
        self.kept = found.kept
        self._known = FollowedState(self._start(lost.engine.models, found.facts), found.head, lost.reopened + 1)

    def _refuse(self, error: Exception) -> LogRefusedError:
        """Answer nothing from now on. A log whose content cannot be read is not read again at every question."""
        passes = isinstance(error, StoreError) and not isinstance(error, UnreadableLogError)
        why = f"the log `{self.name}` cannot be read: {error}"
        self._refusal = _Refusal(why, 0.0 if passes else self._clock() + RETRY_SECONDS)
        log.error("everything in `%s` is refused: its log cannot be read", self.name, exc_info=error)
        return LogRefusedError(why)


def _check_model(lost: Snapshot, found: Snapshot) -> None:
    """Raise `UnreadableLogError` if the organization has another model than before: models are chosen when Headgate starts."""
    before, after = ((each.model, each.model_hash) for each in (lost, found))
    if lost.organization is not None and found.organization is not None and before != after:
        raise UnreadableLogError(f"the organization has another model, `{found.model}`; start Headgate again")
