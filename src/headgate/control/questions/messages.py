"""Refusals in words: one text for every endpoint, and the same text for a hidden name and a missing one."""

from collections.abc import Sequence
from typing import Protocol

from headgate.control.access.visibility import HYPOTHETICAL_USER
from headgate.decision.types import DenyReason, Explanation, RequiredAssignment
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId, SubjectId
from headgate.facts.snapshot import Snapshot


class SubjectNames(Protocol):
    """The names of principals and groups."""

    def name(self, subject: SubjectId) -> str:
        """Return the name, or the id where there is none."""
        ...


class RefusalMessages:
    """Writes explanations for people."""

    def __init__(self, names: SubjectNames) -> None:
        self._names = names

    def hidden(self, names: Sequence[str]) -> str:
        """Return the refusal for a name that is hidden or missing."""
        return hidden_text(names)

    def refusal(
        self, facts: Snapshot, action: str, names: Sequence[str], explained: Explanation, *, known: bool = False
    ) -> str:
        """Return why an action was refused, with the smallest fix, to somebody who may know the resource.

        `known` is for resources that everybody in the organization knows.
        """
        if not (explained.discoverable or known):
            return self.hidden(names)
        missing = explained.decision.missing
        why = denial_text(facts, missing) if missing else "no rule allows it"
        return f"`{action}` on `{'.'.join(names)}` is not allowed: {why}{self._fix(explained, facts)}"

    def caller(self, caller: Caller) -> str:
        """Return who is asking, by name."""
        return self._names.name(caller.principal)

    def _fix(self, explained: Explanation, facts: Snapshot) -> str:
        """Return the first fix as the end of a sentence, or that there is none; empty if nobody may be told."""
        if explained.fixes:
            needed = (self._needed(facts, each) for each in explained.fixes[0].assignments)
            return f"; it needs {' and '.join(needed)}"
        return f"; {NO_FIX}" if explained.discoverable else ""

    def _needed(self, facts: Snapshot, needed: RequiredAssignment) -> str:
        who = _either([self._names.name(each) for each in needed.approvers if each != HYPOTHETICAL_USER])
        return f"`{needed.role}` on `{display_name(facts, needed.resource)}`, which {who} can give"


def display_name(facts: Snapshot, resource: ResourceId) -> str:
    """Return what people call a resource: its full name; an organization, or the deployment, by its type."""
    own = facts.resources.get(resource) if resource == facts.organization else None
    return own.type if own else ".".join(facts.full_name(resource))


def hidden_text(names: Sequence[str]) -> str:
    """Return the refusal for a name that is hidden or missing."""
    return (
        f"there is no `{'.'.join(names)}` that you may see; "
        f"if it should be there, ask an owner or admin for access to it by this name"
    )


_ASKING = ". To ask for access: "


def with_request_link(text: str, link: str) -> str:
    """Return a refusal that ends with where to ask for access."""
    return f"{text}{_ASKING}{link}"


def split_request_link(text: str) -> tuple[str, str | None]:
    """Return a refusal without where to ask for access, and where that is, if it says so."""
    refusal, found, rest = text.rpartition(_ASKING)
    return (refusal, rest.split()[0]) if found and rest.strip() else (text, None)


NO_FIX = "nothing that anybody could assign would change that"


def denial_text(facts: Snapshot, missing: DenyReason, who: str = "you") -> str:
    """Return what was missing, in words, to the one who asked or about them."""
    place = missing.resource
    named = f"`{display_name(facts, place)}`" if place and place in facts.resources else "what is named"
    return reason_on(named, missing, who)


def reason_on(named: str, missing: DenyReason, who: str) -> str:
    """Return what was missing on a place with this name, in words."""
    role = missing.roles[0] if missing.roles else ""
    if missing.code == "condition" and missing.what not in _CONDITIONS:
        return f"the access model asks that `{missing.what}`, and that is not so"
    texts = _OF_A_ROLE if role else _REASONS
    text = _CONDITIONS.get(missing.what) or texts.get(missing.code) or _REASONS[missing.code]
    do, be = ("do", "are") if who == "you" else ("does", "is")
    return text.format(who=who, do=do, be=be, role=role, place=named)


def _either(names: Sequence[str]) -> str:
    if not names:
        return "an owner or admin"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


_REASONS = {
    "no-principal": "{who} {be} not in this organization",
    "no-token": "the token has ended",
    "no-run": "the run has ended",
    "suspended": "this organization is suspended; ask the operator of this deployment",
    "not-declared": "the pipeline does not declare it, and a run touches nothing else",
    "no-resource": "there is nothing of that name",
    "unknown-action": "the access model does not know this action there",
    "no-role": "{who} {do} not hold any role that gives it",
    "narrowed": "the token is for something else only",
    "no-subject": "the one it is for is not in this organization, or lacks the role further up that it stands on",
    "not-assignable": "this role cannot be assigned there, or not to such a one, or not now",
    "not-grantor": "{who} {do} not hold any role that may assign or take this one there",
}

_OF_A_ROLE = {
    "no-role": "{who} {do} not hold `{role}` on {place}",
    "not-grantor": "{who} {do} not hold `{role}` on {place}, nor anything else that may assign or take this role there",
}

_CONDITIONS = {
    "approved": "it is not approved",
    "author": "somebody else asked for it",
    "not author": "{who} {be} the one who asked for it, and somebody else has to decide",
    "before_end": "it is over",
    "consumer_is_self": "it is for somebody else",
    "custom_roles_defined": "no custom roles are defined yet",
    "free_domain": "there is an organization of this domain already",
    "keys_left": "there are as many keys as an organization may have",
    "own_domain": "the domain is not that of the one who asks",
    "permissions_known": "one of the permissions does not exist",
    "published": "this branch is not published",
    "purpose_given": "a purpose is missing",
    "requested": "it is decided already",
    "not role_is_held": "somebody still holds this role",
    "role_is_known": "there is no custom role of this name",
    "subject_is_member": "the one it is about holds no role there",
    "not subject_is_member": "the one it is for holds a role there already",
    "subject_is_principal": "the one it is for is not in this organization",
    "subject_is_user": "the one it is for is no person",
}
"""What it means that a condition with a name does not hold."""
