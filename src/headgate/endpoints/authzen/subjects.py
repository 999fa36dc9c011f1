"""The caller, the subject and the facts of an AuthZEN question: everything in it but the action and the resource."""

from typing import NamedTuple

from headgate.control.identity.narrowed_callers import is_narrowed
from headgate.control.kernel.errors import NotFoundError
from headgate.control.organizations.organization import Organization
from headgate.decision.caller_validity import may_be_subject
from headgate.decision.evaluator import Answers
from headgate.decision.types import Question
from headgate.endpoints.authzen.messages import NOW, BadRequestError, Entity, EvaluationOptions, ForbiddenError
from headgate.facts.caller import Caller
from headgate.facts.changes import PRINCIPAL_KINDS
from headgate.facts.ids import PrincipalId, ResourceId, TokenId
from headgate.facts.snapshot import Snapshot

TOKEN = "token"  # noqa: S105 (a type, no secret)

_ASK, _READ_AUDIT = "organization.ask", "organization.read_audit"

MOST_EXPLAINED = 20
"""The largest number of explained or past answers in one request: each takes as long as thousands of others."""

NO_CALLER = Caller(PrincipalId(""))
"""The caller used for a subject that does not exist."""


class SubjectEvaluation(NamedTuple):
    """The facts to decide on, the time of the decision (seconds since the epoch), and whether both are past."""

    answers: Answers
    time: float
    past: bool = False


class SubjectResolver:
    """Resolves the subjects of one request of a caller. All questions about the present use one revision."""

    def __init__(self, organization: Organization, caller: Caller) -> None:
        self._control = organization.control
        self.organization = organization
        self.caller = caller
        self._present: SubjectEvaluation | None = None
        self._may: dict[str, bool] = {}
        self._explained = 0
        self._ids: dict[str, str | None] = {}
        """Name -> principal id, cached: a lookup is slow, and a default subject is needed many times."""

    def moment(self, wanted: EvaluationOptions) -> SubjectEvaluation:
        """Return the facts that the context asks for.

        Raises `ForbiddenError` if the caller asks about the past and may not read the audit, `BadRequestError` if the
        revision or time does not exist.
        """
        if wanted is NOW and self._present is not None:
            return self._present
        control = self._control
        if wanted.at_least > control.snapshot.revision:
            control.catch_up()
            self._present = None
            self._ids.clear()
        newest = control.snapshot.revision
        if wanted.at_least > newest:
            raise BadRequestError(
                f"`context.at_least` names revision {wanted.at_least}, but the newest revision is {newest}; retry later, or "
                f"send at most {newest}"
            )
        if wanted.explain or wanted.past:
            self._costly()
        if not wanted.past:
            if self._present is None:
                self._present = SubjectEvaluation(control.answers, control.now)
            return self._present
        self._require(
            _READ_AUDIT,
            f"the caller may not ask about the past; ask an owner or admin for a role that allows `{_READ_AUDIT}`",
        )
        return self._past(wanted)

    def subject(self, named: Entity, moment: SubjectEvaluation) -> Caller:
        """Return the subject of a request.

        Raises `ForbiddenError` if the subject is not the caller, and the caller may not ask about other subjects.
        """
        if named.type == TOKEN or named.id == self.caller.principal:
            own = self._itself(named, moment)
            if own is not None:
                return own
        if not self._may.get(_ASK):
            own = self._itself_by_name(named, moment)
            if own is not None:
                return own
            self.require_asking()
        return self._resolve_named(moment.answers.facts, named)

    def require_asking(self) -> None:
        """Raise `ForbiddenError` unless the caller may ask about other subjects."""
        self._require(
            _ASK, f"the caller may not ask about another subject; ask an owner or admin for a role that allows `{_ASK}`"
        )

    def _require(self, action: str, refusal: str) -> None:
        root = self._control.snapshot.organization or self.organization.id
        if action not in self._may:
            self._may[action] = self._control.ask(Question(self.caller, action, root)).allowed
        if not self._may[action]:
            raise ForbiddenError(refusal, action, root)

    def _costly(self) -> None:
        self._explained += 1
        if self._explained > MOST_EXPLAINED:
            raise BadRequestError(
                f"the request has more than {MOST_EXPLAINED} evaluations with `explain` or about the past; send them in "
                "several requests"
            )

    def _past(self, wanted: EvaluationOptions) -> SubjectEvaluation:
        control, time = self._control, wanted.as_of_time
        try:
            revision = wanted.as_of_revision if time is None else control.revision_at(time)
            past = control.past(revision or 0)
        except NotFoundError as error:
            raise BadRequestError(str(error)) from None
        return SubjectEvaluation(past.answers, past.now if time is None else time, past=True)

    def _resolve_named(self, facts: Snapshot, named: Entity) -> Caller:
        """Return the subject with this id or, for a principal, with this name; `NO_CALLER` if there is none."""
        known = caller_of_subject(facts, named.type, named.id)
        if known is not NO_CALLER or named.type not in PRINCIPAL_KINDS:
            return known
        if named.id not in self._ids:
            self._ids[named.id] = self.organization.directory.find(named.id)
        id = self._ids[named.id]
        return NO_CALLER if id is None else caller_of_subject(facts, named.type, id)

    def _itself_by_name(self, named: Entity, moment: SubjectEvaluation) -> Caller | None:
        """Return the caller if the subject is the caller itself by its name, which is no id; else None."""
        principal = self.caller.principal
        is_id = PrincipalId(named.id) in self._control.snapshot.principals
        if is_id or named.type not in PRINCIPAL_KINDS or self.organization.directory.name(principal) != named.id:
            return None
        return self._itself(named._replace(id=principal), moment)

    def _itself(self, named: Entity, moment: SubjectEvaluation) -> Caller | None:
        """Return the caller if the subject is the caller itself, else None; for the past, without its current token."""
        caller = self.caller
        if named.type == TOKEN and named.id == caller.token:
            return caller
        if named.id != caller.principal or named.type not in PRINCIPAL_KINDS:
            return None
        known = self._control.snapshot.principals.get(caller.principal)
        if known is None or known.kind != named.type:
            return NO_CALLER
        whole = moment.past and not is_narrowed(self._control.snapshot, caller)
        return Caller(caller.principal) if whole else caller


def caller_of_subject(facts: Snapshot, type: str, id: str) -> Caller:
    """Return the subject of this type and id as a caller; `NO_CALLER` if there is none."""
    if type in PRINCIPAL_KINDS:
        principal = facts.principals.get(PrincipalId(id))
        return Caller(PrincipalId(id)) if principal and principal.kind == type else NO_CALLER
    resource = facts.resources.get(ResourceId(id))
    if resource and resource.type == type and type != TOKEN and may_be_subject(facts, resource):
        return Caller(PrincipalId(id))
    token = facts.tokens.get(TokenId(id)) if type == TOKEN else None
    return Caller(token.principal, TokenId(id)) if token else NO_CALLER
