"""Questions by name, for doors that know names and not ids. A hidden and a missing name get one answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from headgate.control.control import Control
from headgate.control.names import located
from headgate.control.wording import Wording
from headgate.decision.explain import explain
from headgate.decision.records import Explanation, Question
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer about a name: the text is for the caller, the resource None where there is none."""

    allowed: bool
    discoverable: bool
    revision: int
    message: str = ""
    resource: ResourceId | None = None


class Gate:
    """Asks the one engine about full names, lake first."""

    def __init__(self, control: Control, wording: Wording) -> None:
        self._control = control
        self._wording = wording

    def check(self, caller: Caller, action: str, names: Sequence[str]) -> Verdict:
        """Answer one action on one name."""
        answers, now = self._control.answers, self._control.now
        place, facts = located(answers, names), answers.facts
        if place is None:
            return self.missing(names)
        asked, id = place
        question = Question(caller, action, id)
        resource = id if id in facts.resources else None
        allowed = asked.check(question, now).allowed
        self._control.counts.decided(allowed=allowed)
        if allowed:
            return Verdict(allowed=True, discoverable=True, revision=facts.revision, resource=resource)
        explained = explain(asked.models, asked.facts, question, now, asked)
        return self._refused(asked.facts, names, question, explained, resource)

    def discover(self, caller: Caller, names: Sequence[str]) -> Verdict:
        """Answer whether the caller may know a name; a missing one is known to who would see it there."""
        answers = self._control.answers
        place, facts = located(answers, names), answers.facts
        if place is None or not place[0].discoverable(caller, place[1], self._control.now):
            return self.missing(names)
        resource = place[1] if place[1] in facts.resources else None
        return Verdict(allowed=True, discoverable=True, revision=facts.revision, resource=resource)

    def refusal(self, names: Sequence[str], question: Question, explained: Explanation) -> Verdict:
        """Return the verdict of a command that was refused on the facts it would have landed on."""
        return self._refused(self._control.snapshot, names, question, explained, None)

    def missing(self, names: Sequence[str]) -> Verdict:
        """Return the verdict about a name that is hidden or missing."""
        return Verdict(
            allowed=False, discoverable=False, revision=self._control.snapshot.revision, message=self.hidden(names)
        )

    def hidden(self, names: Sequence[str]) -> str:
        """Return the text for a name that is hidden or missing."""
        return self._wording.hidden(names)

    def visible(self, caller: Caller, names: Sequence[str]) -> Sequence[str]:
        """Return the names below a resource that the caller may discover, sorted."""
        above = self._control.snapshot.find(names)
        if above is None:
            return ()
        children = self._control.snapshot.children[above.id].items()
        return sorted(name for name, id in children if self._control.sees(caller, id))

    def _refused(
        self,
        facts: Snapshot,
        names: Sequence[str],
        question: Question,
        explained: Explanation,
        resource: ResourceId | None,
    ) -> Verdict:
        return Verdict(
            allowed=False,
            discoverable=explained.discoverable,
            revision=facts.revision,
            message=self._wording.refusal(facts, question.action, names, explained),
            resource=resource,
        )
