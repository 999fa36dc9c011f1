"""Explains a decision in one sentence for the author of a case: its grant paths, or the missing condition."""

from collections.abc import Callable, Mapping

from headgate.decision.types import Decision, DenyReason, GrantPath

_NOWHERE = "any resource of the question"


def explain_decision(decision: Decision) -> str:
    """Return the reason of a decision as a sentence."""
    asked = f"`{decision.question.action}` on `{decision.question.resource}`"
    if not decision.allowed:
        return f"{asked} is denied: {_lack(decision.missing) if decision.missing else 'no rule allows it'}"
    return f"{asked} is allowed: {'; '.join(dict.fromkeys(map(_way, decision.paths))) or 'its conditions hold'}"


def _way(path: GrantPath) -> str:
    """Return a grant path as text: the assignment, and the weakest resource of several. Included roles are left out."""
    made = f" for `{path.reason}`" if path.reason else ""
    weakest = f", the weakest being `{path.weakest}`" if path.weakest else ""
    return f"`{path.subject}` has `{path.assigned_role}` on `{path.assigned_on}`{made}{weakest}"


def _lack(missing: DenyReason) -> str:
    return _LACKS.get(missing.code, lambda _: missing.code)(missing)


def _role(missing: DenyReason) -> str:
    roles = " or ".join(f"`{role}`" for role in missing.roles)
    return f"{roles or 'a role'} is not held on {f'`{missing.resource}`' if missing.resource else _NOWHERE}"


_LACKS: Mapping[str, Callable[[DenyReason], str]] = {
    "no-principal": lambda _: "the actor is not a principal of the organization or deployment",
    "no-token": lambda _: "the token is expired or revoked, or its principal does not exist",
    "no-run": lambda _: "the run has ended",
    "suspended": lambda _: "the organization is suspended",
    "not-declared": lambda _: "the pipeline does not declare the resource",
    "no-resource": lambda missing: f"there is no `{missing.resource}`",
    "unknown-action": lambda _: "the model does not have the action on this type of resource",
    "no-role": _role,
    "condition": lambda missing: f"the condition `{missing.what}` does not hold",
    "narrowed": lambda _: "the token is not valid for this action or resource",
    "no-subject": lambda _: "the subject does not exist, or lacks the parent role that the assignment requires",
    "not-assignable": lambda missing: f"the role cannot be assigned to that subject on `{missing.resource}`",
    "not-grantor": lambda missing: f"the actor may not assign or revoke this role on the resource; {_role(missing)}",
}
