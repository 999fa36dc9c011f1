"""Revision and time of a question: the newest facts, facts of at least a revision (`at_least`), or past facts (`as_of`)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, Query

from headgate.control.control import Control
from headgate.control.identity.narrowed_callers import is_narrowed
from headgate.control.kernel.errors import NotFoundError
from headgate.control.questions.messages import hidden_text
from headgate.control.text.timestamps import parse_timestamp
from headgate.decision.evaluator import Answers
from headgate.endpoints.common.context import CurrentCaller, CurrentOrganization
from headgate.endpoints.common.lookup import Text, full_name, require_on_organization, resolve_visible
from headgate.endpoints.common.problems import ProblemError
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Resource, Snapshot

NEWEST_REVISION = 2**63 - 1
"""The largest revision that a store can hold."""

_FORM = (
    "`as_of` is not a revision or a time; give the number of a revision, or a time with its zone as in RFC 3339, "
    "such as `2026-01-31T12:00:00Z`"
)


EvaluationRecord = TypeVar("EvaluationRecord")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The context of a question: the facts as `answers`, the caller, and the time (`now`, seconds since the epoch)."""

    answers: Answers
    caller: Caller
    now: float

    @property
    def facts(self) -> Snapshot:
        """The facts that the question is evaluated on."""
        return self.answers.facts

    def record(self, kind: Mapping[ResourceId, EvaluationRecord], name: str) -> tuple[ResourceId, EvaluationRecord]:
        """Return the record of this id, such as an agreement; a hidden and a missing one raise the same `NotFoundError`."""
        id = ResourceId(name)
        found = kind.get(id)
        if found is None or not self.sees(id):
            raise NotFoundError(hidden_text((name,)))
        return id, found

    def sees(self, resource: ResourceId) -> bool:
        """Return whether the caller may discover the resource."""
        return self.answers.is_discoverable(self.caller, resource, self.now)

    def name(self, resource: ResourceId) -> str:
        """Return the full name of a resource, or its id if it is hidden from the caller or deleted."""
        there = resource in self.facts.resources and self.sees(resource)
        return full_name(self.facts, resource) if there else resource

    def resource(self, name: str) -> Resource:
        """Return the resource of this id or name. Raises `NotFoundError` if it is missing or the caller may not see it."""
        found = resolve_visible(self.answers, self.caller, self.now, name)
        if found is None:
            raise NotFoundError(hidden_text((name,)))
        return self.facts.resources[found]


def evaluation_now(organization: CurrentOrganization, caller: CurrentCaller) -> Evaluation:
    """Return the evaluation on the newest facts, for a route that does not take `as_of` or `at_least`."""
    control = organization.control
    return Evaluation(control.answers, caller, control.now)


def requested(
    organization: CurrentOrganization,
    caller: CurrentCaller,
    at_least: Annotated[int, Query(ge=0, le=NEWEST_REVISION, description="answer at this revision or a newer one")] = 0,
    as_of: Annotated[
        Text | None, Query(max_length=40, description="answer as of this revision or RFC 3339 time")
    ] = None,
) -> Evaluation:
    """Return the evaluation that a request asks for. `as_of` needs `organization.read_audit`."""
    control = organization.control
    if at_least > control.snapshot.revision:
        control.catch_up()
    newest = control.snapshot.revision
    if at_least > newest:
        raise ProblemError(
            409,
            "not-yet",
            f"`at_least` names revision {at_least}, but the newest revision is {newest}; retry later, or send at most "
            f"{newest}",
        )
    if as_of is None:
        return evaluation_now(organization, caller)
    require_on_organization(organization, caller, "organization.read_audit")
    # A token that is not narrowed counts as its principal, which may have existed before the token.
    return _past(control, caller if is_narrowed(control.snapshot, caller) else Caller(caller.principal), as_of)


CurrentEvaluation = Annotated[Evaluation, Depends(evaluation_now)]
RequestedEvaluation = Annotated[Evaluation, Depends(requested)]


def _past(control: Control, caller: Caller, as_of: str) -> Evaluation:
    try:
        time = None if as_of.isdecimal() else parse_timestamp(as_of)
        past = control.past(int(as_of) if time is None else control.revision_at(time))
    except (ValueError, OverflowError):
        raise ProblemError(422, "invalid", _FORM) from None
    except NotFoundError as error:
        raise ProblemError(422, "invalid", str(error)) from None
    return Evaluation(past.answers, caller, past.now if time is None else time)
