"""Writes: dry runs, optimistic locking by `If-Match`, and idempotency of repeated requests."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Annotated, Any, TypedDict, Unpack

from fastapi import Depends, Header, Query, Request, Response
from pydantic import BaseModel, ConfigDict

from headgate.control.access.visibility import may_see_subject
from headgate.control.kernel.command import Command, CommandEffect
from headgate.control.kernel.idempotency import IdempotencyKey, compute_digest
from headgate.control.kernel.ids import new_id
from headgate.control.kernel.metadata import CommandMetadata, ExpectedVersion
from headgate.control.kernel.ports import RequestOrigin
from headgate.control.organizations.organization import Organization
from headgate.decision.diff.results import SubjectImpact
from headgate.decision.diff.what_if import analyze_changes
from headgate.endpoints.common.context import CurrentCaller, CurrentOrganization
from headgate.endpoints.common.idempotency import idempotency_key_of, replay_or_run
from headgate.endpoints.common.impact_schemas import ImpactedPipeline, ImpactEffect, describe_pipeline_change, effect
from headgate.endpoints.common.lookup import Text
from headgate.endpoints.common.problems import ProblemError
from headgate.endpoints.common.request_scope import REQUEST
from headgate.endpoints.common.versions import set_version
from headgate.endpoints.common.write_responses import WriteResponse
from headgate.facts.caller import Caller
from headgate.facts.encoding import encode
from headgate.facts.ids import ResourceId

_ID_DIGITS = 32
_SHOWN = 100
"""The maximum number of effects in the response to a dry run; the rest is counted in `more_effects`."""


class WriteAnswer(BaseModel):
    """The response to a write: the revision of the write, the id of a created resource, and the resource's new version.

    A dry run writes nothing. Its response has the changes, the actions that they need, and their effects on principals and
    pipelines.
    """

    model_config = ConfigDict(extra="allow")

    revision: int
    id: str | None = None
    version: str | None = None
    dry_run: bool = False
    changes: list[dict[str, Any]] | None = None
    needed: list[dict[str, Any]] | None = None
    effects: list[ImpactEffect] | None = None
    pipelines: list[ImpactedPipeline] | None = None
    more_effects: int | None = None


class WriteFields(TypedDict, total=False):
    """The fields that a route may add to the response to a write. A type checker rejects every other field."""

    id: str
    ids: Sequence[str]
    name: str
    ends: float | None
    run: str
    runs: Sequence[str]
    ranges: Sequence[Mapping[str, Any]]
    warning: str | None


DONE: dict[str, Any] = {"response_model": WriteAnswer, "response_model_exclude_none": True}
"""The arguments of a route that answers with a `WriteAnswer`."""


@dataclass(frozen=True, slots=True)
class Write:
    """One request that writes: its organization, its caller, and its options (dry run, version, idempotency key)."""

    organization: Organization
    caller: Caller
    response: Response
    call: CommandMetadata
    dry_run: bool
    if_match: str | None
    once: IdempotencyKey | None

    def execute(self, command: Command, of: ResourceId | None = None, **made: Unpack[WriteFields]) -> dict[str, Any]:
        """Execute a command and return the response; for a dry run, only preview it. Raises a `CommandError` for a refusal.

        `of` is the resource that `If-Match` applies to, or that is created; `made` are fields of the response.
        """
        if self.dry_run:
            return self.decide(command, of, **made).finish()
        reply = self.reply(of, **made)
        return _carry_out(self, command, reply, self.call_for(reply))

    def decide(self, command: Command, of: ResourceId | None = None, **made: Unpack[WriteFields]) -> "Decided":
        """Decide a command without writing it, for a route with more checks before the write; see `Decided.finish`.

        Takes and raises the same as `execute`.
        """
        reply = self.reply(of, **made)
        call = self.call_for(reply)
        return Decided(self, command, reply, call, self.organization.control.preview(command, self.caller, call))

    def reply(self, of: ResourceId | None = None, **made: Unpack[WriteFields]) -> WriteResponse:
        """Return the response to the write, with the resource that it is about and these fields."""
        return WriteResponse(of, made, self.once)

    def call_for(self, reply: WriteResponse) -> CommandMetadata:
        """Return the metadata of a command that stores this response and expects the version in `If-Match`.

        Raises `ProblemError` 422 for `If-Match` on a request without one resource.
        """
        call = replace(self.call, keeps=reply.keeps)
        if self.if_match is None:
            return call
        if reply.of is None:
            raise ProblemError(
                422, "invalid", "`If-Match` is for requests that change one resource; leave it out of this request"
            )
        return replace(call, expected=ExpectedVersion(reply.of, self.if_match))

    def new_id(self, prefix: str) -> str:
        """Return a new id; with an idempotency key, the same id for every repeat of a request to the same organization."""
        if self.once is None:
            return new_id(prefix)
        parts = (self.organization.id, self.once.key, self.once.request)
        return f"{prefix}_{compute_digest(parts)[:_ID_DIGITS]}"


@dataclass(frozen=True, slots=True)
class Decided:
    """A command that is allowed and not written yet."""

    write: Write
    command: Command
    reply: WriteResponse
    call: CommandMetadata
    plan: CommandEffect

    def finish(self, **made: Unpack[WriteFields]) -> dict[str, Any]:
        """Execute the command, which decides it again, and return the response; for a dry run, return its preview.

        `made` are fields of the response that became known after the decision.
        """
        self.reply.made = {**self.reply.made, **made}
        return (
            self._describe_impact()
            if self.write.dry_run
            else _carry_out(self.write, self.command, self.reply, self.call)
        )

    def _describe_impact(self) -> dict[str, Any]:
        self.write.response.status_code = 200
        organization, plan = self.write.organization, self.plan
        control, changes = organization.control, [each for each in map(encode, plan.changes) if self._may_see(each)]
        found = analyze_changes(control.answers, plan.changes, control.now)
        effects = [each for each in found.effects if self._may_see_impact(each, changes)]
        opened = [each for each in found.pipelines if self._sees(each.pipeline)]
        return {
            "dry_run": True,
            "revision": control.snapshot.revision,
            "changes": changes,
            "needed": [
                {"action": each.question.action, "resource": each.question.resource, "model": each.model}
                for each in plan.decisions
            ],
            "effects": [effect(organization.directory, each) for each in islice(effects, _SHOWN)],
            "more_effects": max(0, len(effects) - _SHOWN),
            "pipelines": [describe_pipeline_change(each) for each in islice(opened, _SHOWN)],
        }

    def _may_see_impact(self, found: SubjectImpact, changes: Sequence[Mapping[str, object]]) -> bool:
        """Return whether the caller may know of both the principal and the resource of an effect.

        A principal that the write itself names is known to the caller.
        """
        control = self.write.organization.control
        named = any(found.principal in each.values() for each in changes)
        known = named or may_see_subject(control.answers, self.write.caller, found.principal, control.now)
        return known and self._sees(found.resource)

    def _may_see(self, change: Mapping[str, object]) -> bool:
        """Return whether the caller may see a change: one on the resource of the request, or on another visible one."""
        place, of = change.get("resource"), self.reply.of
        return of is None or place in (None, of) or self._sees(ResourceId(str(place)))

    def _sees(self, resource: ResourceId) -> bool:
        """Return whether the caller may see a resource; a resource that the write would create is visible."""
        control = self.write.organization.control
        return resource not in control.snapshot.resources or control.is_visible(self.write.caller, resource)


def _carry_out(write: Write, command: Command, reply: WriteResponse, call: CommandMetadata) -> dict[str, Any]:
    """Execute a command, and return the response that is stored with it. Not for dry runs."""
    write.organization.control.execute(command, write.caller, call)
    if "version" in reply.answer:
        set_version(write.response, reply.answer["version"])
    return reply.answer


@dataclass(frozen=True, slots=True)
class Wanted:
    """The write options in the query and the headers of a request."""

    dry_run: bool
    idempotency_key: str | None
    if_match: str | None
    why: str

    @property
    def key(self) -> str | None:
        """The idempotency key; None for a dry run, which writes nothing."""
        return None if self.dry_run else self.idempotency_key


async def parse_write_options(
    *,
    dry_run: Annotated[bool, Query(description="write nothing; return the changes and their effects")] = False,
    idempotency_key: Annotated[
        Text | None,
        Header(min_length=1, max_length=200, description="repeats of the request with this key are written once"),
    ] = None,
    if_match: Annotated[Text | None, Header(max_length=200, description="the version that the change is for")] = None,
    headgate_why: Annotated[Text | None, Header(max_length=1000, description="the reason, for the audit")] = None,
) -> Wanted:
    """Return the write options of a request."""
    return Wanted(dry_run, idempotency_key, if_match, headgate_why or "")


Wants = Annotated[Wanted, Depends(parse_write_options)]


async def write(
    request: Request, response: Response, organization: CurrentOrganization, caller: CurrentCaller, wants: Wants
) -> AsyncGenerator[Write]:
    """Yield the write of a request to the organization's log."""
    async with writing(request, response, organization, caller, wants) as found:
        yield found


@asynccontextmanager
async def writing(
    request: Request, response: Response, organization: Organization, caller: Caller, wants: Wanted
) -> AsyncGenerator[Write]:
    """Yield the write of a request, to the log of the organization or of the deployment.

    A repeated request is answered by this function, before the route resolves any name.
    """
    call = CommandMetadata(RequestOrigin("api", str(request.scope.get(REQUEST, "")), caller.token), wants.why)
    repeated = None if wants.key is None else await idempotency_key_of(request, organization, caller, wants.key)
    async with replay_or_run(organization.store, repeated):
        yield Write(organization, caller, response, call, wants.dry_run, _tag(wants.if_match), repeated)


Writes = Annotated[Write, Depends(write)]


def _tag(if_match: str | None) -> str | None:
    if if_match is None or if_match.strip() == "*":
        return None
    return if_match.strip().removeprefix("W/").strip('"')
