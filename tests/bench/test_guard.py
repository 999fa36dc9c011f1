"""The benchmark of Spark with and without Headgate: its figures are correct, and TPC-H returns equal rows on both."""

import os

import pytest

from bench.guard_stack.compare import main
from bench.guard_stack.figures import Pairs, adds_at_most, no_slower, p95, rate_at_least, share_at_most, whole
from bench.guard_stack.report import Outcome, table
from bench.guard_stack.statements import STATEMENTS
from bench.guard_stack.timing import WrongAnswerError, in_turn
from bench.guard_stack.tpch import generator, queries


class TestPairs:
    def test_the_added_time_of_pairs_is_the_median_of_their_differences(self) -> None:
        busy = Pairs("busy", [1.0, 9.0, 1.0], [1.5, 9.6, 1.4])

        assert busy.adds == pytest.approx(0.5)
        assert busy.share == pytest.approx(0.5)

    def test_pairs_of_several_tasks_are_summed_round_by_round(self) -> None:
        assert whole("both", [Pairs("a", [1, 2], [3, 4]), Pairs("b", [10, 20], [30, 40])]) == Pairs(
            "both", [11, 22], [33, 44]
        )

    @pytest.mark.parametrize(("count", "expected"), [(1, 0), (20, 19), (100, 95), (1000, 950)])
    def test_the_p95_is_the_95th_percentile_of_the_times(self, count: int, expected: int) -> None:
        assert p95(range(count)) == expected


class TestAnAim:
    def test_an_aim_limits_the_added_milliseconds(self) -> None:
        pairs = Pairs("simple", [0.010], [0.0115])

        assert [adds_at_most(pairs, limit).met for limit in (1.0, 1.6)] == [False, True]
        assert adds_at_most(pairs, 1.6).value == "+1.50 ms"

    def test_an_aim_limits_the_added_share(self) -> None:
        pairs = Pairs("ten", [2.0], [2.1])

        assert [share_at_most(pairs, limit).met for limit in (4, 6)] == [False, True]
        assert share_at_most(pairs, 6).value == "+5.0 %"

    def test_an_aim_limits_the_loss_of_the_rate(self) -> None:
        pairs = Pairs("rows", [0.75], [1.0])

        assert [rate_at_least(pairs, limit).met for limit in (76, 73)] == [False, True]

    def test_an_aim_ignores_a_slowdown_of_the_machine(self) -> None:
        before = Pairs("few", [1.0], [3.0])

        assert no_slower(before, Pairs("many", [2.0], [6.0]), 0.05).met
        assert not no_slower(before, Pairs("many", [1.0], [3.3]), 0.05).met


class TestInTurn:
    def test_both_variants_are_measured_in_the_same_number_of_rounds(self) -> None:
        done: list[str] = []

        pairs = in_turn("work", lambda: done.append("without"), lambda: done.append("with"), rounds=3, warm_up=1)

        assert len(pairs.without) == len(pairs.guarded) == 3
        assert done == ["without", "with", *["with", "without", "without", "with"] * 2]

    def test_a_measurement_ends_when_the_answers_differ(self) -> None:
        with pytest.raises(WrongAnswerError, match="count"):
            in_turn("count", lambda: 1, lambda: 2, rounds=1)


def test_the_table_of_results_has_one_line_for_each_task() -> None:
    shown = table("end to end", Outcome([Pairs("simple", [0.010, 0.012], [0.013, 0.014])], [])).splitlines()

    assert shown[-1].split() == [
        "simple",
        "11.00",
        "ms",
        "12.0",
        "ms",
        "13.50",
        "ms",
        "14.0",
        "ms",
        "+2.50",
        "ms",
        "+22.7",
        "%",
    ]


def test_the_measured_statements_are_those_of_the_aims() -> None:
    assert [*STATEMENTS] == ["simple", "join", "ten CTEs with EXISTS"]
    assert STATEMENTS["ten CTEs with EXISTS"].count("EXISTS (") == 10


def test_the_22_queries_of_tpch_have_one_statement_each() -> None:
    assert [*queries()] == [*range(1, 23)]
    assert all(text and ";" not in text and not text.startswith("--") for text in queries().values())


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("first", "last"), [("1", "7"), ("8", "15"), ("16", "22")])
def test_tpch_returns_the_same_rows_with_and_without_headgate(
    capsys: pytest.CaptureFixture[str], first: str, last: str
) -> None:
    if generator() is None:
        if os.environ.get("CI") == "true":
            pytest.fail("`tpchgen-cli` is not installed (`make bench` installs it)")
        pytest.skip("`tpchgen-cli` is not installed (`make bench` installs it)")

    with capsys.disabled():
        assert main(["--only", "tpch", "--scale", "1", "--scans", "3", "--first", first, "--last", last]) == 0


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_a_quick_run_measures_every_part(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "--only", "share,end,arrow,upload,catalog"]) == 0

    printed = capsys.readouterr().out
    assert all(title in printed for title in ("parse, analyze, optimize, plan", "end", "arrow", "upload", "catalog"))
