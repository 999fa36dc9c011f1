"""The contract of `control.ports` for runs, tested on every kind of store."""

from dataclasses import replace

import pytest

from headgate.control.kernel.ports import Head, LogWrite, RunConflictError, Store
from headgate.control.kernel.run_queue import RunFilter, RunRow, RunUpdate
from headgate.control.kernel.stores import Stores
from headgate.facts.ids import ResourceId, RunId
from tests.facts.samples import ANNA
from tests.store.samples import OTHER, ROOT

ONE, TWO = ResourceId("p1"), ResourceId("p2")
R1, R2, R3 = RunId("r1"), RunId("r2"), RunId("r3")


@pytest.fixture
def store(stores: Stores) -> Store:
    return stores.log(ROOT)


def row(run: RunId = R1, pipeline: ResourceId = ONE, queued: float = 1.0, due: float = 1.0) -> RunRow:
    return RunRow(run, pipeline, "queued", "manual", ANNA, queued, due)


def queue(store: Store, *rows: RunRow) -> None:
    for each in rows:
        store.put_run(RunUpdate(each, None))


def begun(store: Store) -> RunRow:
    running = replace(row(), state="running", attempt=1, worker="w", lease=5.0, started=2.0)
    queue(store, row())
    store.put_run(RunUpdate(running, row()))
    return running


class TestRuns:
    def test_a_run_is_stored_unchanged(self, store: Store) -> None:
        figures = {"metrics": {"rows.lake.raw.flights": 3.0}, "progress": {"tasks": 2}}
        full = replace(row(), started=2.0, ended=3.0, attempt=2, worker="w", lease=4.0, cluster="big")
        full = replace(full, why="né", since="1", until="2", figures=figures)

        queue(store, full)

        assert store.run(R1) == full
        assert store.run(R2) is None
        assert store.run(RunId("a\0")) is None

    def test_a_run_of_one_log_is_not_in_another_log(self, stores: Stores) -> None:
        queue(stores.log(OTHER), row())

        assert stores.log(ROOT).run(R1) is None
        assert stores.log(ROOT).runs(RunFilter()) == []

    def test_a_second_new_run_with_the_same_id_is_refused(self, store: Store) -> None:
        queue(store, row())

        with pytest.raises(RunConflictError):
            queue(store, row(queued=2.0))
        assert store.run(R1) == row()

    @pytest.mark.parametrize("changed", [{"state": "cancelled"}, {"attempt": 2}, {"worker": "other"}])
    def test_an_update_of_a_run_that_has_changed_meanwhile_is_refused(
        self, store: Store, changed: dict[str, object]
    ) -> None:
        running = begun(store)
        store.put_run(RunUpdate(replace(running, **changed), running))  # pyright: ignore[reportArgumentType]

        with pytest.raises(RunConflictError):
            store.put_run(RunUpdate(replace(running, state="succeeded"), running))
        assert store.run(R1) == replace(running, **changed)  # pyright: ignore[reportArgumentType]

    def test_a_run_is_written_together_with_its_log_entry_or_not_at_all(self, store: Store) -> None:
        store.append(Head(), LogWrite(1.0, None, "run.queue", (), runs=(RunUpdate(row(), None),)))

        assert store.run(R1) == row()
        with pytest.raises(RunConflictError):
            store.append(store.head(), LogWrite(2.0, None, "run.queue", (), runs=(RunUpdate(row(), None),)))
        assert store.head().revision == 1

    def test_runs_come_newest_first_a_page_at_a_time(self, store: Store) -> None:
        queue(store, row(R1, ONE, 1.0), row(R2, TWO, 2.0), row(R3, ONE, 2.0))

        first = store.runs(RunFilter(), limit=2)
        rest = store.runs(RunFilter(before=(first[-1].queued, first[-1].run)))

        assert [each.run for each in (*first, *rest)] == [R3, R2, R1]

    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            (RunFilter(pipeline=ONE), [R3, R1]),
            (RunFilter(states=("running",)), [R3]),
            (RunFilter(states=("queued", "running")), [R3, R2, R1]),
            (RunFilter(states=()), []),
            (RunFilter(since=2.0), [R3, R2]),
            (RunFilter(states=("queued",), due_before=8.0), [R2, R1]),
            (RunFilter(states=("queued",), due_before=7.5), [R2]),
            (RunFilter(states=("running",), lease_before=5.0), []),
            (RunFilter(states=("running",), lease_before=5.1), [R3]),
        ],
    )
    def test_runs_are_found_by_each_filter(self, store: Store, wanted: RunFilter, found: list[RunId]) -> None:
        queue(store, row(R1, ONE, 1.0, 8.0), row(R2, TWO, 2.0, 7.0))
        queue(store, replace(row(R3, ONE, 3.0, 6.0), state="running", worker="w", attempt=1, lease=5.0))

        assert [each.run for each in store.runs(wanted)] == found
        assert store.count_runs(wanted) == len(found)

    def test_due_runs_come_in_the_requested_number_of_each_pipeline(self, store: Store) -> None:
        fourth = RunId("r4")
        queue(store, row(R1, ONE, 1.0, 1.0), row(R2, ONE, 2.0, 2.0), row(R3, ONE, 3.0, 0.5), row(fourth, TWO, 4.0, 3.0))

        found = {
            count: [each.run for each in store.runs(RunFilter(states=("queued",), due_before=8.0, of_each=count))]
            for count in (1, 2)
        }

        assert found == {1: [R3, fourth], 2: [R3, R1, fourth]}


class TestRenewing:
    def test_renewing_a_lease_extends_it_and_stores_figures(self, store: Store) -> None:
        running = begun(store)

        assert store.renew(R1, "w", 1, 9.0, {"progress": {"tasks": 1}})
        assert store.renew(R1, "w", 1, 10.0)

        assert store.run(R1) == replace(running, lease=10.0, figures={"progress": {"tasks": 1}})

    @pytest.mark.parametrize(("run", "worker", "attempt"), [(R2, "w", 1), (R1, "other", 1), (R1, "w", 2)])
    def test_a_lease_is_renewed_only_by_the_attempt_that_executes_the_run(
        self, store: Store, run: RunId, worker: str, attempt: int
    ) -> None:
        running = begun(store)

        assert not store.renew(run, worker, attempt, 9.0)
        assert store.run(R1) == running

    def test_a_lease_is_not_renewed_after_the_run_has_ended(self, store: Store) -> None:
        running = begun(store)
        store.put_run(RunUpdate(replace(running, state="cancelled"), running))

        assert not store.renew(R1, "w", 1, 9.0)


class TestLines:
    def test_log_lines_are_numbered_in_the_order_of_writing(self, store: Store) -> None:
        store.append_log_lines(R1, 1.0, ["one", "two"])
        store.append_log_lines(R2, 1.5, ["of another"])
        store.append_log_lines(R1, 2.0, ["three é \n"])

        said = [(each.number, each.at, each.text) for each in store.log_lines(R1)]
        assert said == [(1, 1.0, "one"), (2, 1.0, "two"), (3, 2.0, "three é \n")]
        assert [each.number for each in store.log_lines(R1, after=1, limit=1)] == [2]
        assert list(store.log_lines(RunId("\0"))) == []

    def test_a_log_line_can_be_any_text(self, stores: Stores) -> None:
        stores.log(ROOT).append_log_lines(R1, 1.0, ["a\0b \ud800"])

        assert len(stores.log(ROOT).log_lines(R1)) == 1
