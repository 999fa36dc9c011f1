"""The verdict on a case by the outcome of its attempts; above all, a bypass is detected."""

import pytest

from tools.bypass_corpus.cases import Case
from tools.bypass_corpus.report import closing
from tools.bypass_corpus.run import run
from tools.bypass_corpus.verdicts import (
    Asker,
    Attempt,
    Ending,
    Holds,
    Judged,
    Verdict,
    askers,
    falls_short,
    judge,
)

READ, WRITE = ("read", "lake.secret.salaries"), ("write", "lake.trusted.delays")
NEEDY = Case("needy", "sql", "INSERT INTO lake.trusted.delays TABLE lake.secret.salaries", (READ, WRITE))
FREE = Case("free", "sql", "SELECT 1", ())
FORBIDDEN = Case("forbidden", "dataframe", "spark.read.text('/etc/passwd')", (("forbidden_always", "path read"),))
SPOOFING = Case(
    "spoofing", "dataframe", "spark.client._user_id = 'alice'", (("forbidden_always", "identity spoofing"),)
)
EVERY = (NEEDY, FREE, FORBIDDEN, SPOOFING)

WITHOUT_READ, WITHOUT_WRITE = Asker(Holds.REST, (WRITE,), READ), Asker(Holds.REST, (READ,), WRITE)
WITH_BOTH = Asker(Holds.NEEDS, (READ, WRITE))
NOBODY, EVERYTHING = Asker(Holds.NOTHING), Asker(Holds.EVERYTHING)

STOPPED = {Ending.REFUSED, Ending.REJECTED, Ending.COVERED}
NOT_SERVED = {Ending.REFUSED, Ending.TIMED_OUT}


class AlwaysEnding:
    """A stack on which every case has the same outcome."""

    def __init__(self, ending: Ending, effects: tuple[str, ...] = (), as_another: str = "") -> None:
        self.ending = ending
        self.effects = effects
        self.as_another = as_another

    def attempt(self, case: Case, asker: Asker) -> Attempt:
        """Return the outcome without an attempt."""
        return Attempt(asker, self.ending, f"message of {case.id}", self.effects, self.as_another)


def judged_on(stack: AlwaysEnding) -> dict[str, Verdict]:
    return {each.case.id: each.verdict for each in run(stack, EVERY, lambda _number, _judged: None)}


def twenty(through: int, over: int) -> list[Judged]:
    """Return twenty cases with these numbers of cases that are let through and over-refused."""
    short = [Verdict.LET_THROUGH] * through + [Verdict.OVER_REFUSED] * over
    return [Judged(FREE, verdict, (), None) for verdict in (*short, *[Verdict.EXACT] * (20 - len(short)))]


class TestWhoTries:
    def test_a_case_with_needs_is_tried_without_each_need_and_with_exactly_all(self) -> None:
        assert askers(NEEDY) == (WITHOUT_READ, WITHOUT_WRITE, WITH_BOTH)

    def test_a_case_without_needs_is_tried_by_a_user_without_rights(self) -> None:
        assert askers(FREE) == (NOBODY,)

    def test_a_forbidden_case_is_tried_by_a_user_with_all_rights(self) -> None:
        assert askers(FORBIDDEN) == (EVERYTHING,)

    def test_a_spoofing_case_is_tried_by_a_user_without_rights(self) -> None:
        assert askers(SPOOFING) == (NOBODY,)

    def test_a_duplicate_need_is_removed_once_and_completely(self) -> None:
        twice = Case("twice", "sql", "", (READ, READ))

        assert askers(twice) == (Asker(Holds.REST, (), READ), Asker(Holds.NEEDS, (READ, READ)))


class TestTheVerdict:
    @pytest.mark.parametrize("ending", Ending)
    def test_a_forbidden_case_is_exact_only_if_it_was_stopped(self, ending: Ending) -> None:
        verdict = judge(FORBIDDEN, [Attempt(EVERYTHING, ending)]).verdict

        assert verdict is (Verdict.EXACT if ending in STOPPED else Verdict.LET_THROUGH)

    @pytest.mark.parametrize("ending", Ending)
    def test_an_attempt_without_one_need_is_exact_only_if_it_was_stopped(self, ending: Ending) -> None:
        attempts = [
            Attempt(WITHOUT_READ, Ending.REFUSED),
            Attempt(WITHOUT_WRITE, ending),
            Attempt(WITH_BOTH, Ending.SERVED),
        ]

        assert judge(NEEDY, attempts).verdict is (Verdict.EXACT if ending in STOPPED else Verdict.LET_THROUGH)

    @pytest.mark.parametrize("ending", Ending)
    def test_an_attempt_with_exactly_its_needs_is_over_refused_unless_it_was_served(self, ending: Ending) -> None:
        attempts = [
            Attempt(WITHOUT_READ, Ending.REFUSED),
            Attempt(WITHOUT_WRITE, Ending.REFUSED),
            Attempt(WITH_BOTH, ending),
        ]

        assert judge(NEEDY, attempts).verdict is (Verdict.OVER_REFUSED if ending in NOT_SERVED else Verdict.EXACT)

    @pytest.mark.parametrize("ending", Ending)
    def test_a_case_without_needs_is_over_refused_unless_it_was_served(self, ending: Ending) -> None:
        verdict = judge(FREE, [Attempt(NOBODY, ending)]).verdict

        assert verdict is (Verdict.OVER_REFUSED if ending in NOT_SERVED else Verdict.EXACT)

    @pytest.mark.parametrize("ending", Ending)
    def test_a_spoofing_case_under_the_rights_of_its_token_is_exact(self, ending: Ending) -> None:
        verdict = judge(SPOOFING, [Attempt(NOBODY, ending)]).verdict

        assert verdict is (Verdict.LET_THROUGH if ending is Ending.TIMED_OUT else Verdict.EXACT)

    @pytest.mark.parametrize("ending", Ending)
    def test_a_spoofing_case_that_got_another_identity_is_let_through(self, ending: Ending) -> None:
        attempt = Attempt(NOBODY, ending, as_another="a request was decided as alice")

        assert judge(SPOOFING, [attempt]).verdict is Verdict.LET_THROUGH

    @pytest.mark.parametrize("case", [NEEDY, FORBIDDEN, SPOOFING], ids=lambda case: case.id)
    def test_a_refusal_that_left_effects_is_let_through(self, case: Case) -> None:
        attempts = [Attempt(asker, Ending.REFUSED, effects=("tables lake.secret.salaries",)) for asker in askers(case)]

        assert judge(case, attempts).verdict is Verdict.LET_THROUGH

    def test_the_verdict_of_a_case_is_the_worst_of_its_attempts(self) -> None:
        attempts = [
            Attempt(WITHOUT_READ, Ending.REFUSED),
            Attempt(WITHOUT_WRITE, Ending.SERVED),
            Attempt(WITH_BOTH, Ending.REFUSED),
        ]

        judged = judge(NEEDY, attempts)

        assert judged.verdict is Verdict.LET_THROUGH
        assert judged.decisive is attempts[1]

    def test_a_case_with_a_missing_attempt_is_let_through(self) -> None:
        attempts = [Attempt(WITHOUT_READ, Ending.REFUSED), Attempt(WITH_BOTH, Ending.SERVED)]

        assert judge(NEEDY, attempts).verdict is Verdict.LET_THROUGH


class TestTheRun:
    def test_the_run_detects_a_stack_that_lets_everything_through(self) -> None:
        verdicts = judged_on(AlwaysEnding(Ending.SERVED, effects=("1 changes in the log",)))

        assert verdicts.pop("free") is Verdict.EXACT
        assert set(verdicts.values()) == {Verdict.LET_THROUGH}

    def test_the_run_detects_a_stack_that_refuses_everything(self) -> None:
        verdicts = judged_on(AlwaysEnding(Ending.REFUSED))

        assert verdicts == {
            "needy": Verdict.OVER_REFUSED,
            "free": Verdict.OVER_REFUSED,
            "forbidden": Verdict.EXACT,
            "spoofing": Verdict.EXACT,
        }

    def test_the_run_does_not_accept_a_broken_stack_as_safe(self) -> None:
        verdicts = judged_on(AlwaysEnding(Ending.FAILED))

        assert verdicts["needy"] is verdicts["forbidden"] is Verdict.LET_THROUGH

    @pytest.mark.parametrize(("through", "over"), [(0, 2), (1, 0)])
    def test_the_run_fails_if_one_case_is_let_through_or_too_many_are_over_refused(
        self, through: int, over: int
    ) -> None:
        assert falls_short(twenty(through, over))

    def test_the_run_passes_if_one_case_in_twenty_is_over_refused(self) -> None:
        assert not falls_short(twenty(0, 1))


class TestTheClosingLine:
    def test_the_closing_line_counts_each_case_once(self) -> None:
        judged = [
            Judged(FREE, Verdict.EXACT, (), None),
            Judged(NEEDY, Verdict.OVER_REFUSED, (), Attempt(WITH_BOTH, Ending.REFUSED, "no")),
            Judged(FORBIDDEN, Verdict.LET_THROUGH, (), Attempt(EVERYTHING, Ending.SERVED)),
        ]

        lines = closing(judged)

        assert lines[-1] == "1 exact, 1 over-refused, 1 let through"
        assert any("needy" in line and "with exactly the needs: refused; no" in line for line in lines)

    def test_the_report_says_which_missing_need_was_served(self) -> None:
        judged = Judged(NEEDY, Verdict.LET_THROUGH, (), Attempt(WITHOUT_READ, Ending.SERVED))

        assert any("with all but read lake.secret.salaries: served" in line for line in closing([judged]))

    def test_the_closing_line_follows_the_rejected_cases(self) -> None:
        judged = judge(FORBIDDEN, [Attempt(EVERYTHING, Ending.REJECTED, "syntax error")])

        lines = closing([judged])

        assert lines[-1] == "1 exact, 0 over-refused, 0 let through"
        assert any("rejected" in line and "forbidden" in line for line in lines)
