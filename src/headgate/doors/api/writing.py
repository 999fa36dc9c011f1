"""Writes: dry runs, the version that they are meant for, and that a repeated one is written once."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Annotated, Any

from fastapi import Depends, Header, Query, Request, Response
from pydantic import BaseModel, ConfigDict

from headgate.control.call import Call, Expected
from headgate.control.command import Command, CommandError, Plan
from headgate.control.ids import new_id
from headgate.control.people import knows_of
from headgate.control.ports import DocumentConflictError, DocumentPut, Origin
from headgate.control.token_scope import replay_scope
from headgate.decision.consequences import Effect
from headgate.doors.api.consequences import ShownEffect, ShownPipeline, effect, pipeline
from headgate.doors.api.names import Text
from headgate.doors.api.versions import tagged
from headgate.doors.problems import ProblemError
from headgate.doors.scope import REQUEST
from headgate.doors.services import By, Services, Uses
from headgate.facts.caller import Caller
from headgate.facts.encoding import encode
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot

_KIND = "answer"
_ID_DIGITS = 32
_SHOWN = 100
"""So many effects of a dry run are shown; the rest is counted."""


class Done(BaseModel):
    """What a write gives: the revision that has it, what was made, and the new version of the resource.

    A dry run writes nothing and gives what it would have written and what would be different for whom.
    """

    model_config = ConfigDict(extra="allow")

    revision: int
    id: str | None = None
    version: str | None = None
    dry_run: bool = False
    changes: list[dict[str, Any]] | None = None
    needed: list[dict[str, Any]] | None = None
    effects: list[ShownEffect] | None = None
    pipelines: list[ShownPipeline] | None = None
    more_effects: int | None = None


DONE: dict[str, Any] = {"response_model": Done, "response_model_exclude_none": True}
"""What a route says that answers so."""


@dataclass(frozen=True, slots=True)
class Write:
    """One request that writes: whoever sends it, and how it is to be carried out."""

    services: Services
    caller: Caller
    response: Response
    call: Call
    dry_run: bool
    if_match: str | None
    once: "_Once | None"

    def send(
        self,
        command: Command,
        of: ResourceId | None = None,
        *,
        secret: Mapping[str, str] | None = None,
        unless: Callable[[], None] | None = None,
        first: Callable[[], None] | None = None,
        **made: Any,
    ) -> dict[str, Any]:
        """Carry out a command and return the answer. `of` is the resource that `If-Match` is about, or that is made.

        `made` are fields of the answer. Those of `secret` stand in this answer and are kept nowhere: not for a repeated
        request either. For a command that is allowed, `unless` raises what else is against it, and `first` does what has
        to be done in another log before it is written. Raises a `CommandError` if it is refused.
        """
        before = self._before()
        if before is not None:
            return before
        try:
            facts = self._carry_out(command, of, unless, first, made)
        except (CommandError, DocumentConflictError, ProblemError):
            # The same request at the same moment was faster, and what it made is what is refused to this one.
            before = self._before()
            if before is None:
                raise
            return before
        if not isinstance(facts, Snapshot):
            return facts
        answer = {"revision": facts.revision, **made}
        if of is not None and of in facts.resources:
            answer["version"] = tagged(self.response, self.services, facts, of)
        return {**answer, **(secret or {})}

    def new_id(self, prefix: str) -> str:
        """Return a new id, the same one for the same request to the same organization that is sent again."""
        if self.once is None:
            return new_id(prefix)
        parts = (self.services.organization.id, self.once.id, self.once.request)
        return f"{prefix}_{_digest(parts)[:_ID_DIGITS]}"

    def _carry_out(
        self,
        command: Command,
        of: ResourceId | None,
        unless: Callable[[], None] | None,
        first: Callable[[], None] | None,
        made: Mapping[str, Any],
    ) -> Snapshot | dict[str, Any]:
        """Return the facts after the command, or the answer of a dry run."""
        call = self._call(of, made)
        if self.dry_run or unless or first:
            plan = self.services.control.preview(command, self.caller, call)
            if unless:
                unless()
            if self.dry_run:
                return self._foreseen(plan)
        if first:
            first()
        return self.services.control.execute(command, self.caller, call)

    def _call(self, of: ResourceId | None, made: Mapping[str, Any]) -> Call:
        call = self.call
        if self.if_match is not None:
            if of is None:
                raise ProblemError(422, "invalid", "`If-Match` is for what changes one resource; leave it out here")
            call = replace(call, expected=Expected(of, self.if_match))
        if self.once is not None:
            once = self.once
            call = replace(call, keeps=lambda revision: (once.kept({"revision": revision, **made}),))
        return call

    def _before(self) -> dict[str, Any] | None:
        """Return the answer that this very request got when it was sent before; None if it is new."""
        kept = self.services.store.document(_KIND, self.once.id) if self.once is not None else None
        if kept is None or self.once is None:
            return None
        if kept["request"] != self.once.request:
            raise ProblemError(422, "key-reused", "this `Idempotency-Key` was used for another request; use a new one")
        self.response.headers["idempotency-replayed"] = "true"
        return dict(kept["answer"])

    def _foreseen(self, plan: Plan) -> dict[str, Any]:
        self.response.status_code = 200
        found, changes = self.services.control.consequences(plan), [encode(each) for each in plan.changes]
        effects = [each for each in found.effects if self._may_hear(each, changes)]
        opened = [each for each in found.pipelines if self._sees(each.pipeline)]
        return {
            "dry_run": True,
            "revision": self.services.control.snapshot.revision,
            "changes": changes,
            "needed": [
                {"action": each.question.action, "resource": each.question.resource, "model": each.model}
                for each in plan.decisions
            ],
            "effects": [effect(self.services.directory, each) for each in islice(effects, _SHOWN)],
            "more_effects": max(0, len(effects) - _SHOWN),
            "pipelines": [pipeline(each) for each in islice(opened, _SHOWN)],
        }

    def _may_hear(self, found: Effect, changes: Sequence[Mapping[str, object]]) -> bool:
        """Say whether the caller may know of both ends of an effect: of whom the write itself names, they do."""
        control = self.services.control
        named = any(found.principal in each.values() for each in changes)
        known = named or knows_of(control.answers, self.caller, found.principal, control.now)
        return known and self._sees(found.resource)

    def _sees(self, resource: ResourceId) -> bool:
        """Say whether the caller may know of a resource; of what they would make, they do."""
        control = self.services.control
        return resource not in control.snapshot.resources or control.sees(self.caller, resource)


@dataclass(frozen=True, slots=True)
class _Once:
    """A request that is to be carried out once, however often it is sent."""

    id: str
    request: str

    def kept(self, answer: Mapping[str, Any]) -> DocumentPut:
        """Return what is kept of the answer, to be given again."""
        return DocumentPut(_KIND, self.id, {"request": self.request, "answer": dict(answer)}, new=True)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the query and the headers of a request say of how it is to be written."""

    dry_run: bool
    idempotency_key: str | None
    if_match: str | None
    why: str


async def wanted(
    *,
    dry_run: Annotated[bool, Query(description="write nothing; answer what would change, and for whom")] = False,
    idempotency_key: Annotated[
        Text | None, Header(max_length=200, description="a repeated request is written once")
    ] = None,
    if_match: Annotated[Text | None, Header(max_length=200, description="the version that this is meant for")] = None,
    headgate_why: Annotated[Text | None, Header(max_length=1000, description="why, for the audit")] = None,
) -> Wanted:
    """Return what a request says of how it is to be written."""
    return Wanted(dry_run, idempotency_key, if_match, headgate_why or "")


Wants = Annotated[Wanted, Depends(wanted)]


async def write(request: Request, response: Response, services: Uses, caller: By, wants: Wants) -> Write:
    """Return how a request is to be written."""
    return await writing(request, response, services, caller, wants)


async def writing(request: Request, response: Response, services: Services, caller: Caller, wants: Wanted) -> Write:
    """Return how a request is to be written, in the organization or the deployment of these services."""
    call = Call(Origin("api", str(request.scope.get(REQUEST, "")), caller.token), wants.why)
    once = None
    if wants.idempotency_key is not None and not wants.dry_run:
        body = await request.body()
        said = (request.method, str(request.url.path), str(request.url.query), body.decode("utf-8", "replace"))
        once = _Once(_digest((replay_scope(services.control.snapshot, caller), wants.idempotency_key)), _digest(said))
    return Write(services, caller, response, call, wants.dry_run, _tag(wants.if_match), once)


Writes = Annotated[Write, Depends(write)]


def _tag(if_match: str | None) -> str | None:
    if if_match is None or if_match.strip() == "*":
        return None
    return if_match.strip().removeprefix("W/").strip('"')


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256(json.dumps(list(parts)).encode()).hexdigest()
