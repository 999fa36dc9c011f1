"""Refusals in words: one text for every door, and the same text for a hidden name and a missing one."""

from collections.abc import Sequence

from headgate.control.directory import Directory
from headgate.decision.records import Explanation, Fix, Missing, Needed
from headgate.facts.caller import Caller
from headgate.facts.snapshot import Snapshot


class Wording:
    """Writes explanations for people."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    def hidden(self, names: Sequence[str]) -> str:
        """Return the refusal for a name that is hidden or missing."""
        return (
            f"there is no `{'.'.join(names)}` that you may see; "
            f"if it should be there, ask an owner or admin for access to it by this name"
        )

    def refusal(
        self, facts: Snapshot, action: str, names: Sequence[str], explained: Explanation, *, known: bool = False
    ) -> str:
        """Return why an action was refused, with the smallest fix, to somebody who may know the resource.

        `known` is for resources that everybody in the organization knows.
        """
        if not (explained.discoverable or known):
            return self.hidden(names)
        missing = explained.decision.missing
        reason = self._reason(facts, missing) if missing else "no rule allows it"
        return f"`{action}` on `{'.'.join(names)}` is not allowed: {reason}{self._fix(facts, explained.fixes)}"

    def caller(self, caller: Caller) -> str:
        """Return who is asking, by name."""
        return self._directory.name(caller.principal)

    def _fix(self, facts: Snapshot, fixes: Sequence[Fix]) -> str:
        """Return the first fix as the end of a sentence; empty if there is none."""
        if not fixes:
            return ""
        return f"; it needs {' and '.join(self._needed(facts, each) for each in fixes[0].assignments)}"

    def _needed(self, facts: Snapshot, needed: Needed) -> str:
        who = _either([self._directory.name(each) for each in needed.approvers])
        return f"`{needed.role}` on `{'.'.join(facts.full_name(needed.resource))}`, which {who} can give"

    def _reason(self, facts: Snapshot, missing: Missing) -> str:
        resource = missing.resource
        if missing.code == "no-role" and missing.roles and resource is not None and resource in facts.resources:
            place = ".".join(facts.full_name(resource))
            return f"you do not hold `{missing.roles[0]}` on `{place}`"
        return _REASONS[missing.code]


def _either(names: Sequence[str]) -> str:
    if not names:
        return "nobody here"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


_REASONS = {
    "no-principal": "you are not in this organization",
    "no-token": "the token has ended",
    "no-run": "the run has ended",
    "not-declared": "the pipeline does not declare it, and a run touches nothing else",
    "no-resource": "there is nothing of that name",
    "unknown-action": "the access model does not know this action",
    "no-role": "you hold no role that gives it",
    "condition": "the access model also asks for something that is not so",
    "narrowed": "the token is for something else only",
    "no-subject": "the one it is for is not in this organization, or cannot hold this role",
    "not-assignable": "this role cannot be assigned there",
    "not-grantor": "you hold no role that may assign or take this one there",
}
