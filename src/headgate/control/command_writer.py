"""Group commit: commands that wait at the same time are decided one after the other and written in one transaction.

Each is decided on the facts after those before it, so the log reads as if each had been written alone. A refusal refuses one command
only, and no result is reported before everything that it was decided on is durable.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from headgate.control.access.visibility import name_visibility
from headgate.control.kernel.command import Command, CommandContext, CommandEffect, PermissionDeniedError, evaluate
from headgate.control.kernel.command_documents import CommandDocuments
from headgate.control.kernel.errors import AlreadyExistsError, CallerGoneError, CommandError, SuspendedError
from headgate.control.kernel.log_follower import LogFollower
from headgate.control.kernel.metadata import ChangedError, CommandMetadata, CommandOutcome
from headgate.control.kernel.metrics import CommandCounts
from headgate.control.kernel.ports import (
    Authorization,
    DocumentPut,
    LogWrite,
    PointerConflictError,
    RevisionConflictError,
    Store,
    StoreError,
)
from headgate.control.resources.versions import resource_version
from headgate.decision.caller_validity import caller_invalid
from headgate.decision.evaluator import Answers
from headgate.decision.reference import decide
from headgate.decision.types import DenyReason, Question
from headgate.facts.caller import Caller
from headgate.facts.snapshot import SUSPENDED, Snapshot

MAX_GROUP: Final = 64
"""The maximum number of commands in one transaction."""
_TRIES: Final = 10
"""The number of tries of a write that the store refuses although no other entry is written."""


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The result of a written command: the snapshot after it, and its effect."""

    facts: Snapshot
    plan: CommandEffect


@dataclass(frozen=True, slots=True)
class _Submitted:
    """A command that waits, and the future for its result."""

    command: Command
    caller: Caller | None
    call: CommandMetadata
    result: Future[WriteResult] = field(default_factory=Future[WriteResult])


@dataclass(frozen=True, slots=True)
class _Drafted:
    """A decided command: its effect, the entry to write, and the engine on the facts after it."""

    plan: CommandEffect
    draft: LogWrite
    engine: Answers


@dataclass(frozen=True, slots=True)
class _Decided:
    """A submitted command with its outcome: a draft, or the error that refuses it."""

    submitted: _Submitted
    outcome: _Drafted | Exception


class CommandWriter:
    """Decides commands on the newest snapshot, and appends them if it is still the newest; otherwise decides again."""

    def __init__(
        self,
        store: Store,
        follower: LogFollower,
        clock: Callable[[], float],
        counts: CommandCounts,
        lock: threading.Lock,
    ) -> None:
        """`lock` is held while `follower` reads or writes the log."""
        self._store = store
        self._follower = follower
        self._documents = CommandDocuments(store)
        self._clock = clock
        self._counts = counts
        self._lock = lock
        self._waiting = deque[_Submitted]()
        self._most = MAX_GROUP
        """The most commands in the next transaction."""
        self._tries = 0

    def execute(self, command: Command, caller: Caller | None, call: CommandMetadata) -> WriteResult:
        """Decide a command and write it, together with those that wait. Raises what `Control.execute` raises."""
        result = self.submit(command, caller, call)
        while not result.done():
            with self._lock:
                if not result.done():
                    self._write_first()
        return result.result()

    def submit(self, command: Command, caller: Caller | None, call: CommandMetadata) -> Future[WriteResult]:
        """Add a command to those that the next `write_submitted`, of any thread, writes. Return the future of its result."""
        submitted = _Submitted(command, caller, call)
        self._waiting.append(submitted)
        return submitted.result

    def write_submitted(self) -> None:
        """Decide and write the commands that wait first, in one transaction. Raises no error of a command: its future does."""
        with self._lock:
            self._write_first()

    def decide(self, command: Command, view: CommandContext, call: CommandMetadata) -> CommandEffect:
        """Decide a command. Raises a `CommandError` if it is refused, or if a resource does not have the expected version."""
        plan = evaluate(command, view)
        # Checked after the decision: a caller without the privilege must not learn about versions.
        expected = call.expected
        if expected is not None and expected.version != resource_version(
            view.facts, self._store, expected.resource, name_visibility(view.engine, view.caller, view.now)
        ):
            raise ChangedError(
                "the resource has changed since the expected version; nothing was written; read the resource again, and "
                "retry with its new version"
            )
        return plan

    def _write_first(self) -> None:
        """Write the commands that wait first, as many as can share a transaction. The others wait on."""
        group = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._most))]
        decided = list[_Decided]()
        try:
            decided = self._append(self._decide_first(group))
        except Exception as error:  # noqa: BLE001 (it is the result of each command)
            decided = [_Decided(each, error) for each in group]
        finally:
            self._waiting.extendleft(reversed(group[len(decided) :]))
        for each in decided:
            self._report(each)

    def _decide_first(self, group: Sequence[_Submitted]) -> list[_Decided]:
        """Decide the first commands of a group, as many as can share a transaction.

        A command that writes documents, pointers or runs is alone in its transaction: it may fail by a conflict, and the
        commands after it may have to read what it writes.
        """
        engine, decided = self._follower.followed.engine, list[_Decided]()
        self._documents.move_to(self._follower.followed.head)
        for each in group:
            outcome = self._draft(each, engine)
            if isinstance(outcome, _Drafted):
                if not outcome.draft.is_log_entry_only and engine is not self._follower.followed.engine:
                    break
                engine = outcome.engine
            decided.append(_Decided(each, outcome))
            if isinstance(outcome, _Drafted) and not outcome.draft.is_log_entry_only:
                break
        return decided

    def _append(self, decided: list[_Decided]) -> list[_Decided]:
        """Write the drafts, and return the commands with their final outcomes: none of them if all must be decided again."""
        drafts = [each.outcome for each in decided if isinstance(each.outcome, _Drafted)]
        try:
            if drafts:
                self._follower.append([each.draft for each in drafts], drafts[-1].engine)
                written = chain.from_iterable(each.draft.documents for each in drafts)
                self._documents.add_written(written, self._follower.followed.head)
        except RevisionConflictError:
            return self._catch_up(decided)
        except Exception as error:  # noqa: BLE001 (it is the result of one command)
            if len(drafts) > 1:
                self._most = 1  # one by one: the error may be of one of them only
                return []
            # The commands after the draft were decided on what was not written: they wait on.
            failed = next(number for number, each in enumerate(decided) if isinstance(each.outcome, _Drafted))
            return [*decided[:failed], _Decided(decided[failed].submitted, _build_conflict(error))]
        self._counts.appends += len(drafts)
        self._most, self._tries = min(2 * self._most, MAX_GROUP), 0
        return decided

    def _catch_up(self, decided: list[_Decided]) -> list[_Decided]:
        """Read what another process has written. Return no command, so that all are decided again.

        If the store refuses entries again and again although there is no other one, return all commands with an error.
        """
        before = self._follower.followed.head
        self._counts.conflicts += 1
        self._most = max(self._most // 2, 1)  # a small group is faster, and wins a race sooner
        self._follower.catch_up()
        self._tries = self._tries + 1 if self._follower.followed.head == before else 0
        if self._tries < _TRIES:
            return []
        self._tries = 0
        error = StoreError(
            f"the log `{self._follower.name}` accepts no entry after its newest revision {before.revision}; nothing was "
            "written; run `headgate log verify`, and restore a backup if it fails"
        )
        return [_Decided(each.submitted, error) for each in decided]

    def _report(self, decided: _Decided) -> None:
        result, outcome = decided.submitted.result, decided.outcome
        if isinstance(outcome, _Drafted):
            self._counts.allowed += len(outcome.plan.decisions)
            result.set_result(WriteResult(outcome.engine.facts, outcome.plan))
            return
        if isinstance(outcome, PermissionDeniedError):
            self._counts.count_decision(allowed=False)
        result.set_exception(outcome)

    def _draft(self, submitted: _Submitted, engine: Answers) -> _Drafted | Exception:
        """Decide a command on the facts of an engine; return its draft, or the error that refuses it."""
        command, call = submitted.command, submitted.call
        try:
            view = build_context(engine, submitted.caller, self._clock())
            plan = self.decide(command, view, call)
            revision = view.facts.revision + 1
            documents = (*plan.documents, *_build_reason(revision, call.why))
            after = self._follower.advance(engine, plan.changes, revision)
            outcome = CommandOutcome(
                after.facts, self._documents, documents, name_visibility(after, view.caller, view.now)
            )
            draft = LogWrite(
                at=view.now,
                actor=view.actor,
                command=command.name,
                changes=plan.changes,
                documents=(*documents, *call.keeps(outcome)),
                pointers=plan.pointers,
                origin=call.origin,
                grounds=tuple(_build_ground(view, each.question) for each in plan.decisions),
                runs=plan.runs,
            )
        except Exception as error:  # noqa: BLE001 (whatever it is, the caller of this command gets it, and no other one)
            return error
        return _Drafted(plan, draft, after)


def build_context(engine: Answers, caller: Caller | None, now: float) -> CommandContext:
    """Return the context of a command of the caller. Raises `CallerGoneError` or `SuspendedError`."""
    missing = caller_invalid(engine.facts, caller, now) if caller is not None else None
    if missing is not None:
        raise _build_caller_error(missing)
    return CommandContext(engine, caller, now)


def _build_caller_error(missing: DenyReason) -> CommandError:
    """Return the error for an invalid caller, or for any caller while the organization is suspended."""
    if missing.code == SUSPENDED:
        return SuspendedError()
    if missing.code == "no-run":
        return CallerGoneError("the run has ended, so its secret is no longer valid; start a new run of its pipeline")
    return CallerGoneError("the token or session has expired or was revoked; log in again, or use another token")


def _build_conflict(error: Exception) -> Exception:
    if not isinstance(error, PointerConflictError):
        return error
    taken = AlreadyExistsError(str(error))
    taken.__cause__ = error
    return taken


def _build_reason(revision: int, why: str) -> tuple[DocumentPut, ...]:
    """Return the reason (prose) as a document: unlike the log, a document can be erased."""
    return (DocumentPut("why", str(revision), {"text": why}),) if why else ()


def _build_ground(view: CommandContext, question: Question) -> Authorization:
    """Return the authorization of a command. For a resource that the command creates, the facts before it name no role."""
    decision = decide(view.models, view.facts, question, view.now)
    path = next(iter(decision.paths), None)
    held = (path.assigned_role, path.assigned_on) if path else ("", None)
    return Authorization(question.action, question.resource, decision.model, *held)
