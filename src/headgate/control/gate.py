"""Questions by name, for doors that know names and not ids. A hidden and a missing name get one answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from headgate.control.control import Control
from headgate.control.names import located
from headgate.control.wording import Wording
from headgate.decision.explain import explain
from headgate.decision.records import Explanation, Question
from headgate.decision.reference import decide, discoverable
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer about a name: the text is for the caller, the resource None where there is none."""

    allowed: bool
    discoverable: bool
    message: str
    revision: int
    resource: ResourceId | None


class Gate:
    """Asks the one engine about full names, lake first."""

    def __init__(self, control: Control, wording: Wording) -> None:
        self._control = control
        self._wording = wording

    def check(self, caller: Caller, action: str, names: Sequence[str]) -> Verdict:
        """Answer one action on one name."""
        facts, model, now = self._control.snapshot, self._control.model, self._control.now
        place = located(facts, names)
        if place is None:
            return Verdict(False, False, self._wording.hidden(names), facts.revision, None)
        asked, id = place
        question = Question(caller, action, id)
        resource = id if id in facts.resources else None
        if decide(model, asked, question, now).allowed:
            return Verdict(True, True, "", facts.revision, resource)
        explained = explain(model, asked, question, now)
        message = self._wording.refusal(asked, action, names, explained)
        return Verdict(False, explained.discoverable, message, facts.revision, resource)

    def discover(self, caller: Caller, names: Sequence[str]) -> Verdict:
        """Answer whether the caller may know a name; a missing one is known to who would see it there."""
        facts, model, now = self._control.snapshot, self._control.model, self._control.now
        place = located(facts, names)
        if place is None or not discoverable(model, place[0], caller, place[1], now):
            return Verdict(False, False, self._wording.hidden(names), facts.revision, None)
        return Verdict(True, True, "", facts.revision, place[1] if place[1] in facts.resources else None)

    def refusal(self, action: str, names: Sequence[str], explained: Explanation) -> Verdict:
        """Return the verdict of a command that was refused on the facts it would have landed on."""
        facts = self._control.snapshot
        message = self._wording.refusal(facts, action, names, explained)
        return Verdict(False, explained.discoverable, message, facts.revision, None)

    def hidden(self, names: Sequence[str]) -> str:
        """Return the text for a name that is hidden or missing."""
        return self._wording.hidden(names)

    def visible(self, caller: Caller, names: Sequence[str]) -> Sequence[str]:
        """Return the names below a resource that the caller may discover, sorted."""
        facts, model, now = self._control.snapshot, self._control.model, self._control.now
        above = facts.find(names)
        if above is None:
            return ()
        children = facts.children.get(above.id, {})
        return sorted(name for name, id in children.items() if discoverable(model, facts, caller, id, now))
