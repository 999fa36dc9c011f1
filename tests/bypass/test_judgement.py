"""What an attempt's end means for a case; above all, that a hole would be found."""

import pytest

from tools.bypass_corpus.cases import Case
from tools.bypass_corpus.judgement import Attempt, Ending, Judged, Verdict, Who, askers, judge
from tools.bypass_corpus.report import closing
from tools.bypass_corpus.run import run

NEEDY = Case("needy", "sql", "TABLE lake.secret.salaries", (("read", "lake.secret.salaries"),))
FREE = Case("free", "sql", "SELECT 1", ())
FORBIDDEN = Case("forbidden", "dataframe", "spark.read.text('/etc/passwd')", (("forbidden_always", "path read"),))
SPOOFING = Case(
    "spoofing", "dataframe", "spark.client._user_id = 'alice'", (("forbidden_always", "identity spoofing"),)
)
EVERY = (NEEDY, FREE, FORBIDDEN, SPOOFING)

STOPPED = {Ending.REFUSED, Ending.REJECTED}
NOT_SERVED = {Ending.REFUSED, Ending.TIMED_OUT}


class AlwaysEnding:
    """A stack on which every case ends in the same way."""

    def __init__(self, ending: Ending, effects: tuple[str, ...] = (), as_another: str = "") -> None:
        self.ending = ending
        self.effects = effects
        self.as_another = as_another

    def attempt(self, case: Case, who: Who) -> Attempt:
        """Try nothing."""
        return Attempt(who, self.ending, f"message of {case.id}", self.effects, self.as_another)


def judged_on(stack: AlwaysEnding) -> dict[str, Verdict]:
    return {each.case.id: each.verdict for each in run(stack, EVERY, lambda _number, _judged: None)}


class TestWhoTries:
    def test_with_needs_somebody_without_and_somebody_with_everything(self) -> None:
        assert askers(NEEDY) == (Who.NOBODY, Who.EVERYTHING)

    def test_without_needs_somebody_who_holds_nothing(self) -> None:
        assert askers(FREE) == (Who.NOBODY,)

    def test_the_forbidden_somebody_who_holds_everything(self) -> None:
        assert askers(FORBIDDEN) == (Who.EVERYTHING,)

    def test_another_identity_somebody_who_holds_nothing(self) -> None:
        assert askers(SPOOFING) == (Who.NOBODY,)


class TestTheVerdict:
    @pytest.mark.parametrize("ending", Ending)
    def test_of_the_forbidden(self, ending: Ending) -> None:
        verdict = judge(FORBIDDEN, [Attempt(Who.EVERYTHING, ending)]).verdict

        assert verdict is (Verdict.EXACT if ending in STOPPED else Verdict.LET_THROUGH)

    @pytest.mark.parametrize("ending", Ending)
    def test_of_what_needs_something_and_is_asked_by_nobody(self, ending: Ending) -> None:
        attempts = [Attempt(Who.NOBODY, ending), Attempt(Who.EVERYTHING, Ending.SERVED)]

        assert judge(NEEDY, attempts).verdict is (Verdict.EXACT if ending in STOPPED else Verdict.LET_THROUGH)

    @pytest.mark.parametrize("ending", Ending)
    def test_of_what_needs_something_and_is_asked_with_everything(self, ending: Ending) -> None:
        attempts = [Attempt(Who.NOBODY, Ending.REFUSED), Attempt(Who.EVERYTHING, ending)]

        assert judge(NEEDY, attempts).verdict is (Verdict.OVER_REFUSED if ending in NOT_SERVED else Verdict.EXACT)

    @pytest.mark.parametrize("ending", Ending)
    def test_of_what_needs_nothing(self, ending: Ending) -> None:
        verdict = judge(FREE, [Attempt(Who.NOBODY, ending)]).verdict

        assert verdict is (Verdict.OVER_REFUSED if ending in NOT_SERVED else Verdict.EXACT)

    @pytest.mark.parametrize("ending", Ending)
    def test_of_another_identity_that_got_the_tokens_own_rights(self, ending: Ending) -> None:
        verdict = judge(SPOOFING, [Attempt(Who.NOBODY, ending)]).verdict

        assert verdict is (Verdict.LET_THROUGH if ending is Ending.TIMED_OUT else Verdict.EXACT)

    @pytest.mark.parametrize("ending", Ending)
    def test_of_another_identity_that_worked(self, ending: Ending) -> None:
        attempt = Attempt(Who.NOBODY, ending, as_another="a request was decided as alice")

        assert judge(SPOOFING, [attempt]).verdict is Verdict.LET_THROUGH

    @pytest.mark.parametrize("case", [NEEDY, FORBIDDEN, SPOOFING], ids=lambda case: case.id)
    def test_of_a_refusal_that_came_too_late(self, case: Case) -> None:
        attempts = [Attempt(who, Ending.REFUSED, effects=("tables lake.secret.salaries",)) for who in askers(case)]

        assert judge(case, attempts).verdict is Verdict.LET_THROUGH

    def test_is_the_worst_of_a_cases_attempts(self) -> None:
        attempts = [Attempt(Who.NOBODY, Ending.SERVED), Attempt(Who.EVERYTHING, Ending.REFUSED)]

        judged = judge(NEEDY, attempts)

        assert judged.verdict is Verdict.LET_THROUGH
        assert judged.decisive is attempts[0]

    def test_of_a_case_that_was_not_tried_as_it_must_be_is_let_through(self) -> None:
        assert judge(NEEDY, [Attempt(Who.NOBODY, Ending.REFUSED)]).verdict is Verdict.LET_THROUGH


class TestTheRun:
    def test_finds_a_stack_that_lets_everything_through(self) -> None:
        verdicts = judged_on(AlwaysEnding(Ending.SERVED, effects=("1 changes in the log",)))

        assert verdicts.pop("free") is Verdict.EXACT
        assert set(verdicts.values()) == {Verdict.LET_THROUGH}

    def test_finds_a_stack_that_refuses_everything(self) -> None:
        verdicts = judged_on(AlwaysEnding(Ending.REFUSED))

        assert verdicts == {
            "needy": Verdict.OVER_REFUSED,
            "free": Verdict.OVER_REFUSED,
            "forbidden": Verdict.EXACT,
            "spoofing": Verdict.EXACT,
        }

    def test_takes_no_stack_for_a_safe_one(self) -> None:
        verdicts = judged_on(AlwaysEnding(Ending.FAILED))

        assert verdicts["needy"] is verdicts["forbidden"] is Verdict.LET_THROUGH


class TestTheClosingLine:
    def test_counts_each_case_once(self) -> None:
        judged = [
            Judged(FREE, Verdict.EXACT, (), None),
            Judged(NEEDY, Verdict.OVER_REFUSED, (), Attempt(Who.EVERYTHING, Ending.REFUSED, "everything: no")),
            Judged(FORBIDDEN, Verdict.LET_THROUGH, (), Attempt(Who.EVERYTHING, Ending.SERVED)),
        ]

        lines = closing(judged)

        assert lines[-1] == "1 exact, 1 over-refused, 1 let through"
        assert any("needy" in line and "no" in line for line in lines)

    def test_comes_after_what_was_rejected(self) -> None:
        judged = judge(FORBIDDEN, [Attempt(Who.EVERYTHING, Ending.REJECTED, "syntax error")])

        lines = closing([judged])

        assert lines[-1] == "1 exact, 0 over-refused, 0 let through"
        assert any("rejected" in line and "forbidden" in line for line in lines)
