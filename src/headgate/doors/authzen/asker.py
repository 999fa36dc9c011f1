"""Who asks about whom, on which facts: the part of a question that is not the action and the resource."""

from typing import NamedTuple

from headgate.control.command import MissingError
from headgate.control.organization import Organization
from headgate.decision.answers import Answers
from headgate.decision.records import Question
from headgate.doors.authzen.messages import BadRequestError, Context, Entity, ForbiddenError
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId, TokenId
from headgate.facts.snapshot import Snapshot

PRINCIPALS = ("user", "service_principal")
OWNERS = ("team", "domain")
TOKEN = "token"  # noqa: S105 (a type, no secret)

_ASK = "organization.ask"

NOBODY = Caller(PrincipalId(""))
"""Whoever a request names and nobody is."""


class Moment(NamedTuple):
    """What answers, at which time (seconds since the epoch), and whether that is now."""

    answers: Answers
    time: float
    now: bool


class Asker:
    """Whoever asks, for one request in one organization. What is asked about the present is about one revision."""

    def __init__(self, organization: Organization, caller: Caller) -> None:
        self._control = organization.control
        self.organization = organization
        self.caller = caller
        self._present: Moment | None = None
        self._may_ask: bool | None = None

    def moment(self, wanted: Context) -> Moment:
        """Return what answers about the facts that the context wants. Raises `BadRequestError` where there are none."""
        control = self._control
        if wanted.at_least > control.snapshot.revision:
            control.catch_up(wanted.at_least)
            self._present = None
        newest = control.snapshot.revision
        if wanted.at_least > newest:
            raise BadRequestError(f"there is no revision {wanted.at_least} yet; the newest is {newest}")
        if wanted.as_of_revision is None and wanted.as_of_time is None:
            if self._present is None:
                self._present = Moment(control.answers, control.now, now=True)
            return self._present
        return self._past(wanted)

    def subject(self, named: Entity, moment: Moment) -> Caller:
        """Return whom a request is about. Raises `ForbiddenError` if that is somebody else, and nobody else may be asked about."""
        own = self._itself(named, moment)
        if own is not None:
            return own
        self.require_asking()
        return found(moment.answers.facts, named.type, named.id)

    def require_asking(self) -> None:
        """Raise `ForbiddenError` unless whoever asks may ask about others."""
        if self._may_ask is None:
            facts = self._control.snapshot
            root = facts.organization or self.organization.id
            self._may_ask = self._control.ask(Question(self.caller, _ASK, root)).allowed
        if not self._may_ask:
            raise ForbiddenError(f"to ask about somebody else, `{_ASK}` on the organization is needed")

    def _past(self, wanted: Context) -> Moment:
        control, time = self._control, wanted.as_of_time
        try:
            past = control.past(wanted.as_of_revision if time is None else control.revision_at(time))
        except MissingError as error:
            raise BadRequestError(str(error)) from None
        return Moment(past.answers, past.now if time is None else time, now=False)

    def _itself(self, named: Entity, moment: Moment) -> Caller | None:
        """Return whoever asks, if that is whom it asks about."""
        caller, facts = self.caller, self._control.snapshot
        if named.type == TOKEN and named.id == caller.token:
            return caller
        if named.id != caller.principal or named.type not in PRINCIPALS:
            return None
        known = facts.principals.get(caller.principal)
        if known is None or known.kind != named.type:
            return NOBODY
        return caller if moment.now or _narrowed(facts, caller) else Caller(caller.principal)


def found(facts: Snapshot, type: str, id: str) -> Caller:
    """Return the caller that a subject of this type is; `NOBODY` if there is none."""
    if type in PRINCIPALS:
        principal = facts.principals.get(PrincipalId(id))
        return Caller(PrincipalId(id)) if principal and principal.kind == type else NOBODY
    if type in OWNERS:
        resource = facts.resources.get(ResourceId(id))
        return Caller(PrincipalId(id)) if resource and resource.type == type else NOBODY
    token = facts.tokens.get(TokenId(id)) if type == TOKEN else None
    return Caller(token.principal, TokenId(id)) if token else NOBODY


def _narrowed(facts: Snapshot, caller: Caller) -> bool:
    """Say whether the rights to ask with are less than the principal's, so that these are not to be told."""
    token = facts.tokens.get(caller.token) if caller.token else None
    return caller.run is not None or (token is not None and (token.only is not None or token.actions is not None))
