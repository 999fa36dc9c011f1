"""Refusals in words: one text for every endpoint, and the same text for a hidden name and a missing one."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Protocol

from headgate.control.access.subject_resolution import HYPOTHETICAL_USER
from headgate.control.kernel.errors import missing_text
from headgate.decision.explain.explain import ACTING, NO_MEMBER
from headgate.decision.types import DenyReason, Explanation, Fix, Question
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import Snapshot


class SubjectNames(Protocol):
    """The names of principals and groups."""

    def name(self, subject: SubjectId) -> str:
        """Return the name of a principal or group, or its id if it has no name."""
        ...


class RefusalMessages:
    """Writes the reasons of refusals for users."""

    def __init__(self, names: SubjectNames) -> None:
        self._names = names

    def hidden(self, names: Sequence[str]) -> str:
        """Return the refusal for a name that is hidden or missing."""
        return hidden_text(names)

    def refusal(
        self, facts: Snapshot, action: str, names: Sequence[str], explained: Explanation, *, known: bool = False
    ) -> str:
        """Return why an action was refused, with the smallest fix, if the caller may discover the resource.

        Otherwise return the text for a hidden name. `known` is for resources that every member of the organization may
        discover.
        """
        if not (explained.discoverable or known):
            return self.hidden(names)
        missing = explained.decision.missing
        why = denial_text(facts, missing) if missing else "no rule allows it"
        return f"`{action}` on `{'.'.join(names)}` is not allowed: {why}{self._fix(explained, facts)}"

    def caller(self, caller: Caller) -> str:
        """Return the name of the caller's principal."""
        return self._names.name(caller.principal)

    def _fix(self, explained: Explanation, facts: Snapshot) -> str:
        """Return the first fix as the end of a sentence, or that there is none; empty if the resource is not discoverable."""
        if explained.fixes:
            question, first = explained.decision.question, explained.fixes[0]
            joins = (each for each in explained.fixes[1:] if each.memberships and not each.assignments)
            told = [", and ".join(self._list_needed(facts, each, question)) for each in (first, *islice(joins, 1))]
            return f"; ask {', or ask '.join(told)}"
        return f"; {NO_FIX}" if explained.discoverable else ""

    def _list_needed(self, facts: Snapshot, fix: Fix, question: Question) -> Iterator[str]:
        # The subject that the caller has named may be hidden, so that its name is not repeated.
        unnamed = (question.caller.principal, question.subject)
        for each in fix.assignments:
            subject = each.subject or fix.subject
            to = "" if subject in unnamed else f" to `{subject_display_name(self._names, facts, subject)}`"
            place = display_name(facts, each.resource)
            yield f"{self._approvers(each.approvers)} to assign `{each.role}` on `{place}`{to}"
        for each in fix.memberships:
            yield f"{self._approvers(each.approvers)} to add you to the group `{self._names.name(each.group)}`"

    def _approvers(self, approvers: Sequence[PrincipalId]) -> str:
        return _either([self._names.name(each) for each in approvers if each != HYPOTHETICAL_USER])


def subject_display_name(names: SubjectNames, facts: Snapshot, subject: SubjectId) -> str:
    """Return the name of a subject for messages: of a principal or group its name, of a team its full name."""
    name, team = names.name(subject), ResourceId(subject)
    return display_name(facts, team) if name == subject and team in facts.resources else name


def display_name(facts: Snapshot, resource: ResourceId) -> str:
    """Return the name of a resource for messages: its full name; for the organization or the deployment itself, its type."""
    own = facts.resources.get(resource) if resource == facts.organization else None
    return own.type if own else ".".join(facts.full_name(resource))


def hidden_text(names: Sequence[str]) -> str:
    """Return the refusal for a name that is hidden or missing."""
    return missing_text(".".join(names))


_ASKING = ". To ask for access: "


def with_request_link(text: str, link: str) -> str:
    """Return a refusal with the link for requesting access at its end."""
    return f"{text}{_ASKING}{link}"


def split_request_link(text: str) -> tuple[str, str | None]:
    """Return a refusal without its link for requesting access, and the link, or None if it has none."""
    refusal, found, rest = text.rpartition(_ASKING)
    return (refusal, rest.split()[0]) if found and rest.strip() else (text, None)


NO_FIX = "no role assignment that a user can make would allow it, and neither would joining a visible group or team"


def denial_text(facts: Snapshot, missing: DenyReason, who: str = "you") -> str:
    """Return in words what was missing: to the caller (`who` is "you") or about another subject."""
    place = missing.resource
    named = f"`{display_name(facts, place)}`" if place and place in facts.resources else "the named resource"
    return reason_on(named, missing, who)


def reason_on(named: str, missing: DenyReason, who: str) -> str:
    """Return in words what was missing on the resource with this name."""
    role = missing.roles[0] if missing.roles else ""
    if missing.code == "condition" and missing.what not in _CONDITIONS:
        return f"the access model requires `{missing.what}`, and this condition does not hold"
    texts = _OF_A_ROLE if role else _REASONS
    text = _CONDITIONS.get(missing.what) or texts.get(missing.code) or _REASONS[missing.code]
    do, be = ("do", "are") if who == "you" else ("does", "is")
    return text.format(who=who, do=do, be=be, role=role, place=named)


_MOST_NAMED = 6
"""The most principals that a refusal names."""


def _either(names: Sequence[str]) -> str:
    if not names:
        return "an owner or admin"
    if len(names) > _MOST_NAMED + 1:  # "or 1 others" would say less than the name
        return f"{', '.join(names[:_MOST_NAMED])} or {len(names) - _MOST_NAMED} others"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


UNKNOWN_ACTION = "unknown-action"
NOT_IN_MODEL = "the access model does not define this action for this resource"

_REASONS = {
    "no-principal": "{who} {be} not an active member of this organization",
    "no-token": "the token has expired or was revoked",
    "no-run": "the run has ended",
    "suspended": "this organization is suspended; ask the operator of this deployment to resume it",
    "not-declared": "the pipeline does not declare this resource; a run may use only the resources that its pipeline declares",
    "no-resource": "there is no resource of that name",
    UNKNOWN_ACTION: NOT_IN_MODEL,
    "no-role": "{who} {do} not hold any role that allows this action",
    "narrowed": "the token is limited to other resources or actions; use a token without that limit",
    "no-subject": "the subject is not a member of this organization, or lacks the role on a parent resource that this assignment requires",
    "not-assignable": "the access model does not allow this role on this resource for this type of subject, or not under the present settings",
    "not-grantor": "{who} {do} not hold any role that may assign or revoke the requested role on this resource",
}

_OF_A_ROLE = {
    "no-role": "{who} {do} not hold `{role}` on {place}",
    "not-grantor": "{who} {do} not hold `{role}` on {place}, or another role that may assign or revoke the requested role there",
}

_CONDITIONS = {
    ACTING: "the token acts in a team, and for this action only the roles of that team count; the team does not hold `{role}` "
    "on {place}; use a token that acts in another team, or in none",
    NO_MEMBER: "the token acts in a team of which its principal is not a member any more; use a token that acts in another team, "
    "or in none",
    "approved": "the request is not approved, or its access has ended",
    "author": "another user made the request",
    "not author": "{who} made the request; another user must decide on it (four eyes)",
    "before_end": "the access has ended",
    "consumer_is_self": "the request is for another consumer",
    "custom_roles_defined": "no custom roles are defined yet",
    "free_domain": "an organization with this domain exists already",
    "keys_left": "the organization has the maximum number of keys; delete one first",
    "own_domain": "the domain is not the domain of the caller's verified e-mail address",
    "permissions_known": "one of the permissions does not exist",
    "published": "this branch is not published",
    "purpose_given": "the purpose is missing",
    "requested": "the request was decided already",
    "not role_is_held": "the role is still assigned; revoke its assignments first",
    "role_is_known": "there is no custom role of this name",
    "subject_is_member": "the subject holds no role on the resource",
    "not subject_is_member": "the subject holds a role on the resource already",
    "subject_is_principal": "the subject is not a member of this organization",
    "subject_is_user": "the subject is not a user",
}
"""The reason of a refusal for each named condition that does not hold."""
