"""Histories: the meaning of versions, and that Spark produces the same ones."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from headgate.pipelines.kinds import parse_definition
from headgate.pipelines.writing.versions import HistoryError
from tests.pipelines.spark_deployment import ByHand
from tests.pipelines.version_model import Values, Version, after_a_look, after_changes

KEYS = (1, 2, 3, None)
VALUES = st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from(["x", "y"]))
EVENTS = st.dictionaries(st.integers(0, 6), VALUES, min_size=1, max_size=7)
BEGIN = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)

Key = int | None
Batch = Mapping[Key, Mapping[int, Values]]
Look = Mapping[Key, Values]


@st.composite
def batches(draw: st.DrawFn, most: int) -> list[Batch]:
    """Batches of rows: some late, some repeated, but in one batch never two different rows of a key for one moment."""
    known = {key: draw(EVENTS) for key in KEYS}
    found: list[Batch] = []
    for _ in range(draw(st.integers(2, most))):
        some = {
            key: {at: events[at] for at in draw(st.sets(st.sampled_from(sorted(events))))}
            for key, events in known.items()
        }
        found.append({key: events for key, events in some.items() if events})
    return found


LOOKS = st.lists(st.dictionaries(st.sampled_from(KEYS), VALUES), min_size=2, max_size=4)


class TestVersions:
    @given(events=EVENTS, order=st.randoms(use_true_random=False))
    def test_versions_do_not_depend_on_the_order_of_the_rows(self, events: dict[int, Values], order: Any) -> None:
        """This holds if the input keeps all rows."""
        at_once = after_changes([], events)
        shuffled = list(events.items())
        order.shuffle(shuffled)

        versions: list[Version] = []
        for count in range(1, len(shuffled) + 1):
            versions = after_changes(versions, dict(shuffled[:count]))

        assert versions == at_once

    def test_a_history_with_a_change_time_cannot_close_absent_rows(self) -> None:
        with pytest.raises(ValidationError, match="`close_absent` cannot be combined with `changed_at`"):
            parse_definition(history("h", changed_at="at", close_absent=True))


def history(name: str, **more: Any) -> dict[str, Any]:
    """A history of `lake.raw.<name>`, in which `what` is tracked and `note` is not."""
    tables = {"input": f"lake.raw.{name}", "into": f"lake.trusted.{name}"}
    return {"kind": "history", "name": name, **tables, "keys": ["k"], "tracked": ["what"], **more}


def some(most: int) -> Any:
    """Return Hypothesis settings for few examples, the same at each run: so few random ones would find faults by luck only."""
    return settings(
        max_examples=most,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=[HealthCheck.too_slow],
    )


EXAMPLES = pytest.mark.parametrize(
    "examples", [1, pytest.param(25, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])], ids=["one", "more"]
)


@pytest.mark.spark
class TestOnSpark:
    @EXAMPLES
    def test_rows_with_change_times_produce_the_versions_of_the_model(self, lake: ByHand, examples: int) -> None:
        """Promise: late rows are placed by their time, and repeated rows change nothing."""
        definition = history("changes", changed_at="at")

        @some(examples)
        @given(came=batches(3))
        def same(came: list[Batch]) -> None:
            lake.spark.sql("DROP TABLE IF EXISTS lake.trusted.changes")
            model: dict[Key, list[Version]] = {}
            for batch in [*came, came[-1]]:
                rows = [
                    (key, what, note, BEGIN + dt.timedelta(days=at))
                    for key, events in batch.items()
                    for at, (what, note) in events.items()
                ]
                self._put(lake, "changes", "k INT, what STRING, note STRING, at TIMESTAMP", [*rows, *rows[:1]])
                lake.run(definition)
                model |= {key: after_changes(model.get(key, []), events) for key, events in batch.items()}
                assert self._versions(lake, "changes", {at: BEGIN + dt.timedelta(days=at) for at in range(7)}) == model

        same()

    @EXAMPLES
    @pytest.mark.parametrize("absent", ["ended", "kept"])
    def test_observations_of_a_table_produce_the_versions_of_the_model(
        self, lake: ByHand, examples: int, absent: str
    ) -> None:
        """Promise: a version begins with the run that first observed it, and ends with the run that first observed its end."""
        name, close_absent = f"looks_{absent}", absent == "ended"
        definition = history(name, close_absent=close_absent)

        @some(examples)
        @given(looks=LOOKS)
        def same(looks: list[Look]) -> None:
            lake.spark.sql(f"DROP TABLE IF EXISTS lake.trusted.{name}")
            model: dict[Key, list[Version]] = {}
            times: dict[int, dt.datetime] = {}
            for now, look in enumerate(looks):
                rows = [(key, *values) for key, values in look.items()]
                self._put(lake, name, "k INT, what STRING, note STRING", rows)
                lake.run(definition)
                for key in KEYS:
                    made = after_a_look(model.get(key, []), look.get(key), now, close_absent=close_absent)
                    model |= {key: made} if made else {}
                times |= self._new_time(lake, name, now, times)
                assert self._versions(lake, name, times) == model

        same()

    def test_a_history_fails_on_two_rows_of_one_key_at_the_same_time(self, lake: ByHand) -> None:
        self._put(lake, "twice", "k INT, what STRING, note STRING", [(1, "a", "x"), (1, "b", "x")])

        with pytest.raises(HistoryError, match="more than one row for the key `k` 1"):
            lake.run(history("twice"))

    @staticmethod
    def _put(lake: ByHand, name: str, schema: str, rows: Sequence[tuple[Any, ...]]) -> None:
        frame = lake.spark.createDataFrame(rows, schema)  # pyright: ignore[reportArgumentType] (rows are tuples)
        if lake.spark.catalog.tableExists(f"lake.raw.{name}"):
            lake.spark.sql(f"TRUNCATE TABLE lake.raw.{name}")
            frame.writeTo(f"lake.raw.{name}").append()
        else:
            frame.writeTo(f"lake.raw.{name}").create()

    @staticmethod
    def _new_time(lake: ByHand, name: str, now: int, known: Mapping[int, dt.datetime]) -> Mapping[int, dt.datetime]:
        ends = lake.rows(f"SELECT max(valid_from), max(valid_to) FROM lake.trusted.{name}")
        newest = max((each.astimezone(dt.UTC) for each in ends[0] if each is not None), default=None)
        return {} if newest is None or newest in known.values() else {now: newest}

    @staticmethod
    def _versions(lake: ByHand, name: str, times: Mapping[int, dt.datetime]) -> dict[Key, list[Version]]:
        at: dict[dt.datetime | None, int | None] = {time: number for number, time in times.items()} | {None: None}
        found: dict[Key, list[Version]] = {}
        query = f"SELECT k, what, note, valid_from, valid_to, is_current FROM lake.trusted.{name} ORDER BY valid_from"
        for key, what, note, since, until, current in lake.rows(query):
            assert current == (until is None)
            begins, ends = (at[each and each.astimezone(dt.UTC)] for each in (since, until))
            assert begins is not None
            found.setdefault(key, []).append(Version(begins, ends, (what, note)))
        return found
