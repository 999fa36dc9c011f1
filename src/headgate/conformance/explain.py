"""Decisions in a sentence, for whoever wrote the case: by which paths, or what was missing."""

from collections.abc import Callable, Mapping

from headgate.decision.types import Decision, DenyReason, GrantPath

_NOWHERE = "anything that was named"


def explain_decision(decision: Decision) -> str:
    """Return why a question was answered so."""
    asked = f"`{decision.question.action}` on `{decision.question.resource}`"
    if not decision.allowed:
        return f"{asked} is denied: {_lack(decision.missing) if decision.missing else 'no rule allows it'}"
    return f"{asked} is allowed: {'; '.join(dict.fromkeys(map(_way, decision.paths))) or 'its conditions hold'}"


def _way(path: GrantPath) -> str:
    """Return what was given to whom, and where it was the weakest of several; the roles that it includes go without saying."""
    made = f" for `{path.reason}`" if path.reason else ""
    weakest = f", the weakest being `{path.weakest}`" if path.weakest else ""
    return f"`{path.subject}` has `{path.assigned_role}` on `{path.assigned_on}`{made}{weakest}"


def _lack(missing: DenyReason) -> str:
    return _LACKS.get(missing.code, lambda _: missing.code)(missing)


def _role(missing: DenyReason) -> str:
    roles = " or ".join(f"`{role}`" for role in missing.roles)
    return f"{roles or 'a role'} is not held on {f'`{missing.resource}`' if missing.resource else _NOWHERE}"


_LACKS: Mapping[str, Callable[[DenyReason], str]] = {
    "no-principal": lambda _: "the actor is nobody there",
    "no-token": lambda _: "the token has ended, or its principal is not there",
    "no-run": lambda _: "the run has ended",
    "suspended": lambda _: "the organization is suspended",
    "not-declared": lambda _: "the pipeline does not declare it",
    "no-resource": lambda missing: f"there is no `{missing.resource}`",
    "unknown-action": lambda _: "the model has no such action there",
    "no-role": _role,
    "condition": lambda missing: f"the condition `{missing.what}` does not hold",
    "narrowed": lambda _: "the token is for something else",
    "no-subject": lambda _: "the one that it is for is not there, or lacks the role above that it needs first",
    "not-assignable": lambda missing: f"the role cannot be assigned to that subject on `{missing.resource}`",
    "not-grantor": lambda missing: f"no rule lets this role be given or taken there; {_role(missing)}",
}
