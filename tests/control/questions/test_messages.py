"""Refusals as text: every code and every condition of a shipped model has a sentence."""

from collections.abc import Iterator
from importlib.resources import files

import pytest

from headgate.control.access.subject_resolution import HYPOTHETICAL_USER
from headgate.control.questions.messages import RefusalMessages, denial_text
from headgate.decision.conditions import CONDITIONS
from headgate.decision.types import (
    Decision,
    DenyReason,
    Explanation,
    Fix,
    Question,
    RequiredAssignment,
    RequiredMembership,
)
from headgate.facts.caller import Caller
from headgate.facts.ids import GroupId, PrincipalId, SubjectId
from headgate.model.describe import describe_condition
from headgate.model.load import load_model
from headgate.model.model import Condition, Model
from tests.fakes.small_organization import ACTIONS, FLIGHTS, MEMBER, snapshot

FACTS = snapshot()
SHIPPED = sorted(path.name for path in (files("headgate.model") / "models").iterdir())


def shipped(name: str) -> Model:
    return load_model((files("headgate.model") / "models" / name).read_text(), ACTIONS, name, CONDITIONS)


def terms(model: Model) -> Iterator[Condition]:
    for alternatives in model.needs.values():
        for each in alternatives:
            yield from each.when


class TestAReason:
    @pytest.mark.parametrize("name", SHIPPED)
    def test_each_named_condition_of_a_shipped_model_has_a_sentence(self, name: str) -> None:
        missing = {describe_condition(term).replace("`", "") for term in terms(shipped(name)) if term.root == "named"}

        assert [
            what for what in missing if "`" in denial_text(FACTS, DenyReason("condition", FLIGHTS, what=what))
        ] == []

    def test_a_reason_repeats_any_other_condition_as_the_model_writes_it(self) -> None:
        missing = DenyReason("condition", FLIGHTS, what="self.name is not {x}")

        assert (
            denial_text(FACTS, missing)
            == "the access model requires `self.name is not {x}`, and this condition does not hold"
        )

    def test_a_reason_names_the_weakest_missing_role_and_its_resource(self) -> None:
        missing = DenyReason("no-role", FLIGHTS, ("editor", "manager"))

        assert denial_text(FACTS, missing) == "you do not hold `editor` on `lake.raw.flights`"
        assert denial_text(FACTS, missing, "vic") == "vic does not hold `editor` on `lake.raw.flights`"

    def test_a_reason_without_a_resource_still_names_the_missing_role(self) -> None:
        assert (
            denial_text(FACTS, DenyReason("no-role", None, ("editor",)))
            == "you do not hold `editor` on the named resource"
        )

    @pytest.mark.parametrize(
        "code",
        [
            *("no-principal", "no-token", "no-run", "suspended", "not-declared", "no-resource", "unknown-action"),
            *("no-role", "narrowed", "no-subject", "not-assignable", "not-grantor"),
        ],
    )
    def test_every_deny_code_has_a_reason(self, code: str) -> None:
        text = denial_text(FACTS, DenyReason(code))

        assert text == text.strip(" .")
        assert "{" not in text


class _Names:
    """A directory in which each subject's name is its id."""

    def name(self, subject: SubjectId) -> str:
        return subject


class TestTheFixOfARefusal:
    @pytest.mark.parametrize(
        ("approvers", "named"),
        [
            ((HYPOTHETICAL_USER, "ann"), "ann"),
            (("ann", HYPOTHETICAL_USER, "ben"), "ann or ben"),
            ((HYPOTHETICAL_USER,), "an owner or admin"),
            (tuple("abcdefg"), "a, b, c, d, e, f or g"),
            (tuple("abcdefgh"), "a, b, c, d, e, f or 2 others"),
        ],
    )
    def test_a_fix_names_some_approvers_and_no_hypothetical_user(self, approvers: tuple[str, ...], named: str) -> None:
        question = Question(Caller(MEMBER), "table.select", FLIGHTS)
        needed = RequiredAssignment("viewer", FLIGHTS, tuple(map(PrincipalId, approvers)))
        decision = Decision(allowed=False, revision=1, model="nekt", question=question)
        explained = Explanation(decision, discoverable=True, fixes=(Fix(MEMBER, (needed,)),))

        wording = RefusalMessages(_Names())

        assert wording.refusal(FACTS, "table.select", ("lake", "raw", "flights"), explained).endswith(
            f"; ask {named} to assign `viewer` on `lake.raw.flights`"
        )

    def test_a_refusal_proposes_a_group_to_join_besides_the_assignment(self) -> None:
        join = Fix(MEMBER, (), (RequiredMembership(GroupId("crew"), (PrincipalId("ben"),)),))

        assert self.refusal(Fix(MEMBER, (VIEWER,)), join).endswith(
            "; ask ann to assign `viewer` on `lake.raw.flights`, or ask ben to add you to the group `crew`"
        )

    def test_a_refusal_names_the_group_that_needs_the_role(self) -> None:
        assert self.refusal(Fix(GroupId("crew"), (VIEWER,))).endswith(
            "; ask ann to assign `viewer` on `lake.raw.flights` to `crew`"
        )

    def refusal(self, *fixes: Fix) -> str:
        question = Question(Caller(MEMBER), "table.select", FLIGHTS)
        decision = Decision(allowed=False, revision=1, model="nekt", question=question)
        explained = Explanation(decision, discoverable=True, fixes=fixes)
        return RefusalMessages(_Names()).refusal(FACTS, "table.select", ("lake", "raw", "flights"), explained)


VIEWER = RequiredAssignment("viewer", FLIGHTS, (PrincipalId("ann"),))
