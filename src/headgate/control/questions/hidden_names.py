"""Questions by name, for endpoints that know names and not ids. A hidden and a missing name get one answer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from headgate.control.catalog.table_services import allowed_procedure
from headgate.control.control import Control
from headgate.control.kernel.audit_records import NOT_FOUND, REFUSED, Denial
from headgate.control.kernel.names import TYPES, HypotheticalResource, find_by_name, list_descendants, suppose
from headgate.control.questions.messages import RefusalMessages, with_request_link
from headgate.control.questions.operation_names import NeededAction, OperationName, list_needed_actions
from headgate.decision.context import model_for
from headgate.decision.evaluator import Answers
from headgate.decision.explain.explain import explain
from headgate.decision.types import Explanation, Question
from headgate.decision.uniform_visibility import is_visibility_uniform
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer about a name. `message` is for the caller; `resource` is None if no resource is known to the caller.

    `denial` is what the audit records of a refusal. It is the same for a hidden name and a missing one.
    """

    allowed: bool
    discoverable: bool
    revision: int
    message: str = ""
    resource: ResourceId | None = None
    denial: Denial | None = None


class NameAuthorizer:
    """Answers questions about full names (lake first) with the decision engine.

    A refusal ends with a link for requesting access: any user may request access to any name.
    """

    def __init__(self, control: Control, wording: RefusalMessages, requests: str = "/api/v1/requests") -> None:
        """`requests` is the URL at which users request access."""
        self._control = control
        self._wording = wording
        self._requests = requests

    def check(self, caller: Caller, action: str, names: Sequence[str]) -> Verdict:
        """Return the verdict on one action on one name."""
        answers, now = self._control.answers, self._control.now
        found = find_by_name(answers.facts, names)
        if found is not None:
            question = Question(caller, action, found.id)
            if answers.check(question, now).allowed:
                self._control.counts.count_decision(allowed=True)
                return _build_allowed_verdict(answers, found.id)
            if self._knows(answers, caller, found.id):
                self._control.counts.count_decision(allowed=False)
                explained = explain(answers.models, answers.facts, question, now, answers)
                return self._build_refused_verdict(answers, names, question, explained, found.id)
        verdict = self._check_absent_name(answers, caller, action, names)
        self._control.counts.count_decision(allowed=verdict.allowed)
        return verdict

    def list_needed_actions(
        self, operation: str, places: Mapping[str, OperationName], /, **words: str
    ) -> tuple[NeededAction, ...]:
        """Return the actions that an operation on these names needs, in their order."""
        return tuple(list_needed_actions(self._control.answers, operation, places, **words))

    def discover(self, caller: Caller, names: Sequence[str]) -> Verdict:
        """Return whether the caller may discover a name.

        A missing name is answered as known if the caller would see a resource with it.
        """
        answers = self._control.answers
        found = find_by_name(answers.facts, names)
        if found is not None and self._knows(answers, caller, found.id):
            return _build_allowed_verdict(answers, found.id)
        return self._check_absent_name(answers, caller, None, names)

    def may_run_procedure(self, caller: Caller, names: Sequence[str], procedure: str, arguments: Iterable[str]) -> bool:
        """Return whether the caller, as the run of a service of the table, may call this procedure for the table."""
        found = find_by_name(self._control.answers.facts, names)
        own = allowed_procedure(self._control.answers, caller, found.id, self._control.now) if found else None
        return own is not None and own.name == procedure and own.arguments.issuperset(arguments)

    def is_service_run(self, caller: Caller, names: Sequence[str]) -> bool:
        """Return whether the caller is the run of a service that rewrites the files of the table and leaves its rows."""
        found = find_by_name(self._control.answers.facts, names)
        return (
            found is not None
            and allowed_procedure(self._control.answers, caller, found.id, self._control.now) is not None
        )

    def refusal(self, names: Sequence[str], question: Question, explained: Explanation) -> Verdict:
        """Return the verdict of a command that was refused on the facts that it would have been written on."""
        return self._build_refused_verdict(self._control.answers, names, question, explained, None)

    def build_missing_verdict(self, names: Sequence[str], action: str | None = None) -> Verdict:
        """Return the verdict about a name that is hidden or missing."""
        wanted = action or f"{TYPES[min(len(names), len(TYPES)) - 1]}.describe"
        return Verdict(
            allowed=False,
            discoverable=False,
            revision=self._control.snapshot.revision,
            message=self._asking(self.hidden(names), wanted, names),
            denial=Denial(NOT_FOUND, wanted, ".".join(names)),
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
        return sorted(name for name, id in children if self._control.is_visible(caller, id))

    def _knows(self, answers: Answers, caller: Caller, id: ResourceId) -> bool:
        now = self._control.now
        return answers.is_discoverable(caller, id, now) or allowed_procedure(answers, caller, id, now) is not None

    def _check_absent_name(self, answers: Answers, caller: Caller, action: str | None, names: Sequence[str]) -> Verdict:
        """Return the verdict about a name that is hidden or missing.

        Both take the same path, so that the response time does not reveal which it is. The action is allowed, and Spark
        then reports the missing name, if the caller could do it on a resource with this name and no resource at that
        place is hidden from the caller. A hidden name is never allowed, because the hidden resource is at that place.
        """
        now, would = self._control.now, suppose(answers, names)
        if would is not None:
            asked, id = would.answers, would.resource.id
            if action is None:
                allowed = asked.is_discoverable(caller, id, now)
            else:
                allowed = asked.check(Question(caller, action, id), now).allowed
            if allowed and self._sees_all_siblings(answers, caller, would):
                return Verdict(allowed=True, discoverable=True, revision=answers.facts.revision)
        return self.build_missing_verdict(names, action)

    def _sees_all_siblings(self, answers: Answers, caller: Caller, would: HypotheticalResource) -> bool:
        """Return whether the caller may discover every resource of the type at that place, and the hypothetical one too."""
        now, resource = self._control.now, would.resource
        if not would.answers.is_discoverable(caller, resource.id, now):
            return False
        model = model_for(answers.models, answers.facts, resource.type, would.above)
        if model is not None and is_visibility_uniform(model, resource.type):
            return True
        return all(
            answers.is_discoverable(caller, id, now)
            for id in list_descendants(answers.facts, would.above, resource.type)
        )

    def _build_refused_verdict(
        self,
        answers: Answers,
        names: Sequence[str],
        question: Question,
        explained: Explanation,
        resource: ResourceId | None,
    ) -> Verdict:
        text = self._wording.refusal(answers.facts, question.action, names, explained)
        # The run of a table service may know its table, although it may do nothing with it but call the service's procedure.
        discoverable = explained.discoverable or resource is not None
        denied = Denial(REFUSED, question.action, question.resource)
        return Verdict(
            allowed=False,
            discoverable=discoverable,
            revision=answers.facts.revision,
            message=self._asking(text, question.action, names),
            resource=resource,
            denial=denied if discoverable else Denial(NOT_FOUND, question.action, ".".join(names)),
        )

    def _asking(self, text: str, action: str, names: Sequence[str]) -> str:
        return with_request_link(text, f"{self._requests}?{urlencode({'action': action, 'resource': '.'.join(names)})}")


def _build_allowed_verdict(answers: Answers, id: ResourceId) -> Verdict:
    return Verdict(allowed=True, discoverable=True, revision=answers.facts.revision, resource=id)
