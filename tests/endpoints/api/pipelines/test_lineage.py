"""Lineage over HTTP: upstream and downstream tables, and OpenLineage events, limited to what each caller may discover."""

import json
from dataclasses import replace
from typing import Any

import pytest

from headgate.control.kernel.ports import DocumentPut
from headgate.control.kernel.run_queue import RunRow, RunUpdate
from headgate.control.pipelines.commits import commit_note
from headgate.control.pipelines.run_access_log import RunAccessLog
from headgate.facts.ids import ResourceId, RunId
from headgate.pipelines.lineage.recorder import LineageRecorder
from tests.app.deployment_harness import OrganizationClient
from tests.endpoints.conftest import Make

QUERY = {"kind": "query", "sql": "SELECT 1"}


def ran(place: OrganizationClient, run: str, pipeline: str, read: str, wrote: str, at: float) -> None:
    """Store a run of a pipeline that read one table and wrote another."""
    organization, touched = place.opened, RunAccessLog()
    touched.record(organization, RunId(run), [("table.select", read.split(".")), ("table.insert", wrote.split("."))])
    touched.record_columns(organization.store, RunId(run), wrote, {"delay": [(read, "late")]})
    table = organization.control.snapshot.find(wrote.split("."))
    assert table is not None
    added = {"snapshots": 1, "rows": 2, "bytes": 30}
    organization.store.put_document(commit_note(organization.store, RunId(run), table.id, added, {"delay": "double"}))
    found = ResourceId(place.call("owner", "GET", f"/pipelines/{pipeline}").json()["id"])
    row = RunRow(RunId(run), found, "succeeded", "manual", None, at, at, at, at + 1, 1, "w")
    organization.store.put_run(RunUpdate(row, None))
    LineageRecorder().record_end(organization, row.run)


@pytest.fixture(scope="module")
def acme(make: Make) -> OrganizationClient:
    """Flights lead to delays, and delays to a report; vic may see all three, eve the flights and the delays."""
    place = make()
    for name in ("raw", "trusted", "board"):
        place.create("/databases", {"name": name})
    for database, name in (("raw", "flights"), ("trusted", "delays"), ("board", "report")):
        place.create("/resources", {"type": "table", "parent": f"lake.{database}", "name": name})
    steps = {"clean": ("lake.raw.flights", "lake.trusted.delays"), "show": ("lake.trusted.delays", "lake.board.report")}
    for number, (name, (read, wrote)) in enumerate(steps.items()):
        saved = place.call(
            "owner", "PUT", f"/pipelines/{name}", {**QUERY, "name": name, "inputs": [read], "into": wrote}
        )
        assert saved.status_code == 200, saved.text
        ran(place, f"run-{name}", name, read, wrote, 100.0 + number)
    for name, databases in (("vic", ("raw", "trusted", "board")), ("eve", ("raw", "trusted")), ("ned", ())):
        place.add(name)
        for each in databases:
            place.give(name, "viewer", f"lake.{each}")
    return place


def shown(place: OrganizationClient, who: str, of: str) -> dict[str, Any]:
    answer = place.call(who, "GET", "/lineage", of=of)
    assert answer.status_code == 200, answer.text
    return answer.json()


def ends(steps: list[dict[str, Any]]) -> list[tuple[str, str, str, int]]:
    return [(each["source"], each["pipeline"], each["target"], each["distance"]) for each in steps]


CLEAN = ("lake.raw.flights", "clean", "lake.trusted.delays")
SHOW = ("lake.trusted.delays", "show", "lake.board.report")


class TestOfATable:
    def test_the_lineage_of_a_table_is_shown_upstream_and_downstream(self, acme: OrganizationClient) -> None:
        report, delays = shown(acme, "vic", "lake.board.report"), shown(acme, "vic", "lake.trusted.delays")

        assert ends(report["upstream"]) == [(*SHOW, 1), (*CLEAN, 2)]
        assert report["downstream"] == []
        assert ends(delays["upstream"]) == [(*CLEAN, 1)]
        assert ends(delays["downstream"]) == [(*SHOW, 1)]
        assert delays["upstream"][0]["columns"] == {"delay": ["late"]}
        assert delays["upstream"][0]["run"] == "run-clean"

    def test_a_hidden_table_ends_the_lineage_and_is_answered_like_a_missing_one(self, acme: OrganizationClient) -> None:
        assert ends(shown(acme, "eve", "lake.raw.flights")["downstream"]) == [(*CLEAN, 1)]

        hidden = acme.call("eve", "GET", "/lineage", of="lake.board.report")
        missing = acme.call("eve", "GET", "/lineage", of="lake.board.nothing")
        assert hidden.status_code == missing.status_code == 404
        assert hidden.json()["detail"].replace("report", "nothing") == missing.json()["detail"]

    def test_a_hidden_pipeline_does_not_appear_in_the_lineage(self, make: Make, acme: OrganizationClient) -> None:
        """Its second input hides the pipeline from eve, although she may see the tables that the run read and wrote."""
        both = {"inputs": ["lake.trusted.delays", "lake.board.report"], "into": "lake.raw.flights"}
        saved = acme.call("owner", "PUT", "/pipelines/back", {**QUERY, "name": "back", **both})
        assert saved.status_code == 200, saved.text
        ran(acme, "run-back", "back", "lake.trusted.delays", "lake.raw.flights", 50.0)

        assert "back" in {each["pipeline"] for each in shown(acme, "vic", "lake.raw.flights")["upstream"]}
        assert shown(acme, "eve", "lake.raw.flights")["upstream"] == []
        acme.call("owner", "DELETE", "/pipelines/back")


class TestEvents:
    def test_lineage_events_cover_the_visible_runs_newest_first(self, acme: OrganizationClient) -> None:
        found = acme.call("vic", "GET", "/lineage/events").json()["items"]

        said = [(each["job"]["name"], each["eventType"]) for each in found]
        assert said == [("show", "COMPLETE"), ("show", "START"), ("clean", "COMPLETE"), ("clean", "START")]
        assert {each["job"]["name"] for each in acme.call("eve", "GET", "/lineage/events").json()["items"]} == {"clean"}
        assert acme.call("ned", "GET", "/lineage/events").json()["items"] == []

    def test_lineage_events_are_returned_in_pages_and_as_json_lines(self, acme: OrganizationClient) -> None:
        first = acme.call("vic", "GET", "/lineage/events", limit=1).json()
        second = acme.call("vic", "GET", "/lineage/events", limit=1, cursor=first["next"]).json()
        lines = acme.send("vic", "GET", "/lineage/events", None, {"accept": "application/x-ndjson"})

        assert [each["job"]["name"] for each in first["items"]] == ["show", "show"]
        assert [each["job"]["name"] for each in second["items"]] == ["clean", "clean"]
        assert second["next"] is None
        assert [json.loads(each) for each in lines.text.splitlines()] == [*first["items"], *second["items"]]
        assert acme.call("vic", "GET", "/lineage/events", cursor="nonsense").status_code == 422

    def test_lineage_events_omit_hidden_inputs(self, acme: OrganizationClient) -> None:
        """The run read more tables than its pipeline declares now."""
        store = acme.opened.store
        touched = store.document("lineage", "run-clean")
        report = acme.opened.control.snapshot.find(("lake", "board", "report"))
        assert touched is not None
        assert report is not None
        more = {**touched, "inputs": [*touched["inputs"], report.id]}
        store.put_document(DocumentPut("lineage", "run-clean", more))

        of_clean = {
            who: acme.call(who, "GET", "/lineage/events", pipeline="clean").json()["items"][0] for who in ("vic", "eve")
        }
        store.put_document(DocumentPut("lineage", "run-clean", dict(touched)))

        assert [each["name"] for each in of_clean["vic"]["inputs"]] == ["lake.raw.flights", "lake.board.report"]
        assert [each["name"] for each in of_clean["eve"]["inputs"]] == ["lake.raw.flights"]

    def test_a_queued_run_has_no_lineage_event_and_a_running_one_has_one(self, acme: OrganizationClient) -> None:
        store = acme.opened.store
        done = store.run(RunId("run-clean"))
        assert done is not None
        going = replace(done, run=RunId("going"), state="running", ended=None, queued=10.0)
        waiting = replace(going, run=RunId("waiting"), state="queued", started=None)
        for each in (going, waiting):
            store.put_run(RunUpdate(each, None))

        found = acme.call("owner", "GET", "/lineage/events").json()["items"]

        assert [each["eventType"] for each in found[-1:]] == ["START"]
        assert len(found) == 5
