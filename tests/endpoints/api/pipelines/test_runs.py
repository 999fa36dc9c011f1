"""Runs over HTTP: triggered, shown, read, cancelled and retried, each by exactly the users who may do it."""

import base64
from dataclasses import replace
from typing import Any

import pytest

from headgate.control.kernel.run_queue import RunFilter, RunRow, RunUpdate
from headgate.endpoints.api.pipelines import triggers
from headgate.endpoints.api.pipelines.runs import read_cursor
from headgate.endpoints.common.problems import ProblemError
from headgate.facts.ids import PrincipalId, ResourceId, RunId
from tests.app.deployment_harness import DeploymentHarness, OrganizationClient
from tests.endpoints.conftest import Make
from tests.fakes.runs import begin, end, there


def saved(place: OrganizationClient) -> ResourceId:
    """Save a query from a table into a new one; ed may edit both, vic view them, and eve has no access."""
    place.create("/databases", {"name": "ran"})
    place.create("/resources", {"type": "table", "parent": "lake.ran", "name": "a"})
    tables = {"inputs": ["lake.ran.a"], "into": "lake.ran.b"}
    answer = place.call(
        "owner",
        "PUT",
        "/pipelines/delays",
        {"kind": "query", "name": "delays", "mode": "append", "sql": "SELECT 1", **tables},
    )
    assert answer.status_code == 200, answer.text
    for name, role in (("ed", "editor"), ("vic", "viewer"), ("eve", "")):
        place.add(name)
        if role:
            place.give(name, role, "lake.ran")
    return ResourceId(answer.json()["id"])


@pytest.fixture(scope="module")
def acme(make: Make) -> OrganizationClient:
    place = make()
    saved(place)
    return place


@pytest.fixture(scope="module")
def pipeline(acme: OrganizationClient) -> ResourceId:
    return ResourceId(acme.call("owner", "GET", "/pipelines/delays").json()["id"])


@pytest.fixture(scope="module")
def home(world: DeploymentHarness) -> DeploymentHarness:
    """The organization that has Spark in these tests, with the same query."""
    saved(world)
    return world


def failed(run: str, pipeline: ResourceId, queued: float = 1.0, **more: Any) -> RunRow:
    row = RunRow(RunId(run), pipeline, "failed", "manual", None, queued, queued, queued, queued + 1, 1, "w")
    return replace(row, **more)


def put(place: OrganizationClient, *rows: RunRow) -> None:
    for each in rows:
        place.opened.store.put_run(RunUpdate(each, None))


def listed(place: OrganizationClient, who: str, **query: Any) -> list[str]:
    answer = place.call(who, "GET", "/runs", **query)
    assert answer.status_code == 200, answer.text
    return [each["run"] for each in answer.json()["items"]]


class TestSeeing:
    def test_a_run_is_shown_to_a_viewer_of_its_tables(self, acme: OrganizationClient, pipeline: ResourceId) -> None:
        figures = {"metrics": {"rows.lake.ran.a": 3}, "progress": {"tasks": 2, "rows": 3}}
        put(acme, failed("seen", pipeline, why="torn", figures=figures))
        acme.opened.store.append_log_lines(RunId("seen"), 1.0, ["one", "two"])

        shown = acme.call("vic", "GET", "/runs/seen").json()

        assert (shown["state"], shown["why"], shown["attempts"], shown["name"]) == ("failed", "torn", 1, "delays")
        assert (shown["metrics"], shown["progress"]) == (figures["metrics"], figures["progress"])
        assert [each["line"] for each in shown["log"]] == ["one", "two"]

    def test_rows_are_counted_for_callers_that_may_read_the_tables(
        self, acme: OrganizationClient, pipeline: ResourceId
    ) -> None:
        metrics = {"rows.lake.ran.a": 3.0, "rows.lake.ran.gone": 4.0, "rows": 5.0}
        put(acme, failed("counted", pipeline, figures={"metrics": metrics, "progress": {"tasks": 2.0, "bytes": 9.0}}))
        narrowed = acme.call(
            "vic", "POST", "/tokens", {"actions": ["query.describe", "query.see_runs", "table.describe"]}
        )
        assert narrowed.status_code == 201, narrowed.text
        acme.tokens["describer"] = narrowed.json()["token"]

        reads, describes = (acme.call(who, "GET", "/runs/counted").json() for who in ("vic", "describer"))

        assert reads["metrics"] == {"rows.lake.ran.a": 3.0, "rows": 5.0}
        assert reads["progress"] == {"tasks": 2.0, "bytes": 9.0}
        assert (describes["metrics"], describes["progress"]) == ({}, {"tasks": 2.0})

    def test_a_hidden_run_is_answered_like_a_missing_one(self, acme: OrganizationClient, pipeline: ResourceId) -> None:
        put(acme, failed("hidden", pipeline))

        for method, path in (
            ("GET", "/runs/{}"),
            ("GET", "/runs/{}/log"),
            ("POST", "/runs/{}/cancel"),
            ("POST", "/runs/{}/retry"),
        ):
            hidden, missing = (acme.call("eve", method, path.format(each)) for each in ("hidden", "nosuch"))
            assert hidden.status_code == missing.status_code == 404
            assert hidden.json()["detail"].replace("hidden", "it") == missing.json()["detail"].replace("nosuch", "it")
        assert listed(acme, "eve") == []
        assert acme.call("eve", "GET", "/runs", pipeline="delays").status_code == 404

    def test_a_run_of_a_missing_pipeline_is_missing_to_an_owner_too(self, acme: OrganizationClient) -> None:
        put(acme, failed("left", ResourceId("gone")))

        assert acme.call("owner", "GET", "/runs/left").status_code == 404

    def test_the_list_of_runs_is_paged_newest_first(self, make: Make) -> None:
        place = make()
        id = saved(place)
        put(place, *(failed(f"r{number}", id, float(number // 2)) for number in range(5)))
        put(place, replace(failed("r5", id, 9.0), state="refused"), failed("other", ResourceId("gone"), 5.0))

        found, cursor = list[str](), None
        while True:
            answer = place.call("vic", "GET", "/runs", limit=2, **({"cursor": cursor} if cursor else {})).json()
            found += [each["run"] for each in answer["items"]]
            cursor = answer["next"]
            if cursor is None:
                break

        assert found == ["r5", "r4", "r3", "r2", "r1", "r0"]
        assert listed(place, "vic", state="refused") == ["r5"]
        assert listed(place, "vic", since=2.0) == ["r5", "r4"]
        assert listed(place, "vic", pipeline="delays", state="failed", since=1.0) == ["r4", "r3", "r2"]

    @pytest.mark.parametrize(
        "query",
        [{"cursor": "x"}, {"cursor": "e30="}, {"cursor": "WzEsICJcdTAwMDAiXQ=="}, {"state": "odd"}, {"since": "x"}],
    )
    def test_an_invalid_filter_or_cursor_of_runs_is_refused(
        self, acme: OrganizationClient, query: dict[str, str]
    ) -> None:
        assert acme.call("vic", "GET", "/runs", **query).status_code == 422


class TestLog:
    def test_the_log_of_a_run_is_read_in_pages_and_from_the_last_line(
        self, acme: OrganizationClient, pipeline: ResourceId
    ) -> None:
        token = begin(acme.control, acme.opened.store, RunId("said"), pipeline)
        assert token.startswith("hgr.said.")
        acme.opened.store.append_log_lines(RunId("said"), 1.0, [f"line {number}" for number in range(1, 1203)])

        first = acme.call("vic", "GET", "/runs/said/log").json()
        rest = acme.call("vic", "GET", "/runs/said/log", after=first["next"]).json()
        nothing = acme.call("vic", "GET", "/runs/said/log", after=rest["next"]).json()

        assert [each["number"] for each in first["items"]] == list(range(1, 1001))
        assert [each["line"] for each in rest["items"]] == [f"line {number}" for number in range(1001, 1203)]
        assert (nothing["items"], nothing["next"], nothing["ended"]) == ([], 1202, False)
        end(acme.control, acme.opened.store, RunId("said"))
        assert acme.call("vic", "GET", "/runs/said/log", after=1202).json()["ended"] is True

    def test_reading_the_log_of_a_onehouse_run_needs_more_than_seeing_the_run(self, make: Make) -> None:
        place = make("onehouse")
        place.create("/resources", {"type": "project", "parent": "organization", "name": "one"})
        place.create("/clusters", {"name": "big", "parent": "one"})
        job = {"type": "job", "parent": "one", "name": "nightly", "relations": {"cluster": [{"to": "big"}]}}
        id = ResourceId(place.create("/resources", job))
        for name, role in (("ann", "viewer"), ("ben", "user")):
            place.add(name)
            place.give(name, "member", "one")
            place.give(name, role, "nightly")
        put(place, failed("night", id, why="the secret cause"))
        place.opened.store.append_log_lines(RunId("night"), 1.0, ["a secret"])

        metadata, everything = (place.call(who, "GET", "/runs/night").json() for who in ("ann", "ben"))

        assert (metadata["state"], metadata["why"], metadata["log"]) == ("failed", None, [])
        assert (everything["why"], len(everything["log"])) == ("the secret cause", 1)
        assert place.call("ann", "GET", "/runs/night/log").status_code == 403
        assert place.call("ben", "GET", "/runs/night/log").json()["items"][0]["line"] == "a secret"
        assert place.call("ann", "POST", "/runs/night/retry").status_code == 403


class TestCancelling:
    def test_cancelling_a_run_requires_the_privilege_to_trigger_it(
        self, acme: OrganizationClient, pipeline: ResourceId
    ) -> None:
        begin(acme.control, acme.opened.store, RunId("long"), pipeline)

        assert acme.call("vic", "POST", "/runs/long/cancel").status_code == 403
        assert acme.call("ed", "POST", "/runs/long/cancel").status_code == 200
        assert acme.call("vic", "GET", "/runs/long").json()["state"] == "cancelled"
        assert acme.call("ed", "POST", "/runs/long/cancel").status_code == 422


class TestAsking:
    def test_triggering_a_run_requires_the_privilege_and_spark(self, acme: OrganizationClient) -> None:
        assert acme.call("vic", "POST", "/pipelines/delays/runs").status_code == 403
        assert acme.call("eve", "POST", "/pipelines/delays/runs").status_code == 404
        assert acme.call("ed", "POST", "/pipelines/delays/runs").status_code == 409

    def test_a_repeated_trigger_request_creates_one_run(self, home: DeploymentHarness) -> None:
        def ask() -> str:
            answer = home.send("ed", "POST", "/pipelines/delays/runs", None, {"idempotency-key": "k"})
            assert answer.status_code == 202, answer.text
            return answer.json()["run"]

        run = ask()
        assert ask() == run
        shown = home.call("ed", "GET", f"/runs/{run}").json()
        assert (shown["state"], shown["trigger"], shown["by"]) == ("queued", "manual", "ed")
        assert listed(home, "ed", pipeline="delays")[0] == run

    def test_an_inactive_pipeline_cannot_be_triggered(self, home: DeploymentHarness) -> None:
        assert home.call("ed", "POST", "/pipelines/delays/deactivate").status_code == 200
        refused = home.call("ed", "POST", "/pipelines/delays/runs")
        assert (refused.status_code, "inactive" in refused.json()["detail"]) == (422, True)
        assert home.call("ed", "POST", "/pipelines/delays/activate").status_code == 200

    def test_a_retry_creates_a_new_run_of_the_same_range(self, home: DeploymentHarness) -> None:
        id = ResourceId(home.call("ed", "GET", "/pipelines/delays").json()["id"])
        put(home, replace(failed("old", id), since="1", until="5"))
        put(home, replace(failed("waiting", id), state="queued", due=4e9))

        answer = home.call("ed", "POST", "/runs/old/retry")

        assert answer.status_code == 202, answer.text
        row = there(home.opened.store, RunId(answer.json()["run"]))
        assert (row.pipeline, row.trigger, row.since, row.until) == (id, "backfill", "1", "5")
        assert home.call("ed", "POST", "/runs/waiting/retry").status_code == 409
        assert home.call("vic", "POST", "/runs/old/retry").status_code == 403


class TestBackfill:
    @pytest.mark.parametrize(
        ("body", "ranges"),
        [
            ({"since": 5}, [("5", None)]),
            ({"since": "a", "until": "c"}, [("a", "c")]),
            ({"since": 1, "until": 6, "step": 2}, [("1", "3"), ("3", "5"), ("5", "6")]),
            ({"since": "1", "until": "3", "step": 2}, [("1", "3")]),
            (
                {"since": "2013-01-30", "until": "2013-02-02", "step": "P2D"},
                [("2013-01-30", "2013-02-01"), ("2013-02-01", "2013-02-02")],
            ),
            (
                {"since": "2013-01-01T00:30:00+00:00", "until": "2013-01-01T02:00:00+00:00", "step": "PT1H"},
                [
                    ("2013-01-01T00:30:00+00:00", "2013-01-01T01:30:00+00:00"),
                    ("2013-01-01T01:30:00+00:00", "2013-01-01T02:00:00+00:00"),
                ],
            ),
        ],
    )
    def test_a_dry_run_of_a_backfill_lists_its_ranges_and_queues_nothing(
        self, home: DeploymentHarness, body: dict[str, Any], ranges: list[tuple[str | None, str | None]]
    ) -> None:
        before = len(listed(home, "ed"))

        answer = home.call("ed", "POST", "/pipelines/delays/backfill", body, dry_run="true")

        assert answer.status_code == 200, answer.text
        assert [(each["since"], each["until"]) for each in answer.json()["ranges"]] == ranges
        assert len(listed(home, "ed")) == before

    def test_a_backfill_queues_a_run_for_each_step_in_order(self, home: DeploymentHarness) -> None:
        answer = home.call("ed", "POST", "/pipelines/delays/backfill", {"since": 0, "until": 3, "step": 1})

        assert answer.status_code == 202, answer.text
        rows = [there(home.opened.store, run) for run in answer.json()["runs"]]
        assert [(each.since, each.until, each.trigger) for each in rows] == [
            ("0", "1", "backfill"),
            ("1", "2", "backfill"),
            ("2", "3", "backfill"),
        ]
        assert sorted(rows, key=lambda each: each.due) == rows

    @pytest.mark.parametrize(
        ("body", "words"),
        [
            ({}, "the backfill has no range"),
            ({"since": 3, "until": 1, "step": 1}, "is empty"),
            ({"since": 1, "step": 1}, "needs both `since` and `until`"),
            ({"since": 1, "until": 2, "step": 0}, "do not fit together"),
            ({"since": 1, "until": 2, "step": "P1D"}, "do not fit together"),
            (
                {"since": "2013-01-01", "until": "2013-01-02", "step": "PT1H"},
                "`step` is not positive, or not of whole days",
            ),
            (
                {"since": "2013-01-01", "until": "2013-01-02", "step": "-P1D"},
                "`step` is not positive, or not of whole days",
            ),
            ({"since": "2013-01-01", "until": "2013-01-02T00:00:00+00:00", "step": "P1D"}, "do not fit together"),
            (
                {"since": "2013-01-01T00:00:00", "until": "2013-01-02T00:00:00+00:00", "step": "P1D"},
                "do not fit together",
            ),
            ({"since": "a", "until": "b", "step": 1}, "is not an integer, a date or a time"),
            ({"since": 0, "until": 5000, "step": 1}, "more than 1000 runs"),
            ({"since": "0001-01-01", "until": "9999-12-31", "step": "P999999999D"}, "do not fit together"),
            ({"since": 0, "until": 5, "stride": 1}, "does not match the schema"),
        ],
    )
    def test_an_invalid_backfill_is_refused_with_a_reason(
        self, home: DeploymentHarness, body: dict[str, Any], words: str
    ) -> None:
        answer = home.call("ed", "POST", "/pipelines/delays/backfill", body)

        assert answer.status_code == 422, answer.text
        assert words in answer.json()["detail"]

    def test_a_backfill_of_a_pipeline_in_full_mode_is_refused(self, home: DeploymentHarness) -> None:
        found = home.call("owner", "GET", "/pipelines/delays").json()["definition"]
        full = {**found, "name": "totals", "mode": "full"}
        assert home.call("owner", "PUT", "/pipelines/totals", full).status_code == 200

        answer = home.call("owner", "POST", "/pipelines/totals/backfill", {"since": 1})

        assert answer.status_code == 422
        assert "set `mode` to `append` or `merge`" in answer.json()["detail"]

    @pytest.mark.parametrize(("path", "body"), [("runs", None), ("backfill", {"since": 0, "until": 2, "step": 1})])
    def test_a_request_that_would_queue_too_many_runs_of_a_pipeline_is_refused(
        self, home: DeploymentHarness, monkeypatch: pytest.MonkeyPatch, path: str, body: dict[str, Any] | None
    ) -> None:
        home.call("ed", "POST", "/pipelines/delays/runs")
        queued = home.deployment.home.store.count_runs(RunFilter(states=("queued",)))
        room = 0 if body is None else 1
        monkeypatch.setattr(triggers, "MOST_QUEUED", queued + room)

        answer = home.call("ed", "POST", f"/pipelines/delays/{path}", body)

        assert (answer.status_code, answer.json()["type"]) == (409, "urn:headgate:problem:queue-full")
        assert f"has {queued} queued runs" in answer.json()["detail"]
        assert home.deployment.home.store.count_runs(RunFilter(states=("queued",))) == queued
        # A user who may not trigger the pipeline learns nothing about its queue.
        assert home.call("vic", "POST", f"/pipelines/delays/{path}", body).status_code == 403

    def test_a_backfill_requires_the_privilege_to_trigger_runs(self, home: DeploymentHarness) -> None:
        assert home.call("vic", "POST", "/pipelines/delays/backfill", {"since": 1}).status_code == 403
        assert home.call("eve", "POST", "/pipelines/delays/backfill", {"since": 1}).status_code == 404


def test_a_run_by_a_deleted_principal_still_names_an_actor(acme: OrganizationClient, pipeline: ResourceId) -> None:
    put(acme, replace(failed("by-nobody", pipeline), actor=PrincipalId("p-gone")))

    assert acme.call("vic", "GET", "/runs/by-nobody").json()["by"]


@pytest.mark.parametrize("queued", ["NaN", "Infinity", "1" + "0" * 400, "1e999", "[" * 5000])
def test_a_cursor_without_a_valid_time_is_refused(queued: str) -> None:
    cursor = base64.urlsafe_b64encode(f'[{queued}, "r"]'.encode()).decode()

    with pytest.raises(ProblemError, match="cursor"):
        read_cursor(cursor)
