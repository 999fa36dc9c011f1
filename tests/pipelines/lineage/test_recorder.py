"""Lineage: the reads and writes of a run are stored with it, and sent in the format of OpenLineage."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headgate.control.kernel.run_queue import RunRow
from headgate.control.organizations.organization import Organization
from headgate.control.pipelines.commits import commit_note
from headgate.control.pipelines.run_access_log import RunAccessLog
from headgate.facts.changes import Edge, RelationsSet
from headgate.facts.ids import ResourceId, RunId
from headgate.pipelines.execution.attempt import Attempt
from headgate.pipelines.lineage.emitter import Receiver, Sending
from headgate.pipelines.lineage.events import PRODUCER, EventBuilder
from headgate.pipelines.lineage.recorder import LATEST, LineageRecorder, RunTrace, trace_from_document, trace_of
from tests.pipelines.fake_worker import Clock, Work, change, opened, queued, row, until, worker
from tests.threads import served

FLIGHTS, PLANES = ResourceId("flights"), ResourceId("planes")
RUN = RunId("one")
NOW = 1_000_000.0


def touches(attempt: Attempt) -> None:
    """Record that the run read the flights and wrote the planes, like the guard and the catalog do."""
    organization, touched = attempt.organization, RunAccessLog()
    read, wrote = ("lake", "raw", "flights"), ("lake", "raw", "planes")
    touched.record(organization, RUN, [("table.select", read), ("table.insert", wrote), ("table.select", wrote)])
    touched.record_columns(organization.store, RUN, "lake.raw.planes", {"tail": [("lake.raw.flights", "tailnum")]})
    added = {"snapshots": 1, "rows": 3, "bytes": 70}
    put = commit_note(organization.store, RUN, PLANES, added, {"tail": "string", "seats": "long"})
    organization.store.put_document(put)


def refused(_: Attempt) -> None:
    raise ValueError("the file `a.csv` is torn")


def carried_out(organization: Organization, *steps: Any, **more: Any) -> RunRow:
    """Execute a run whose attempts do this, and return it."""
    queued(organization, RUN, **more)
    told = list[str]()
    lineage = LineageRecorder(lambda _, row, __: told.append(row.state))
    working = worker(organization, Work({RUN: list(steps)}), lineage=lineage)
    working.start()
    until(lambda: row(organization, RUN).ended is not None and len(told) == 2)
    working.stop()
    return row(organization, RUN)


@pytest.fixture
def main() -> Organization:
    return opened(Clock(NOW))


class TestATrace:
    def test_a_trace_has_the_tables_that_a_run_read_and_committed_to_only(self, main: Organization) -> None:
        done = carried_out(main, touches)

        trace = trace_of(main, done)

        assert trace.inputs == (FLIGHTS,)
        (left,) = trace.outputs.values()
        assert list(trace.outputs) == [PLANES]
        assert (left.rows, left.bytes, left.columns) == (3, 70, (("tail", "string"), ("seats", "long")))
        assert left.sources == {"tail": ((FLIGHTS, "tailnum"),)}

    def test_a_pipeline_has_the_trace_of_its_newest_successful_run(self, main: Organization) -> None:
        done = carried_out(main, touches)

        kept = main.store.document(LATEST, done.pipeline)

        assert kept is not None
        assert (kept["run"], trace_from_document(kept)) == (RUN, trace_of(main, done))

    def test_a_trace_of_an_active_run_is_available_before_its_end(self, main: Organization) -> None:
        queued(main, RUN)
        RunAccessLog().record(main, RUN, [("table.select", ("lake", "raw", "flights"))])

        assert trace_of(main, row(main, RUN)) == RunTrace((FLIGHTS,))

    def test_a_failed_run_stores_no_trace_for_its_pipeline(self, main: Organization) -> None:
        done = carried_out(main, refused)

        assert main.store.document(LATEST, done.pipeline) is None
        assert trace_of(main, done) == RunTrace()

    def test_a_trace_names_the_connections_of_a_run(self, main: Organization) -> None:
        edges = {"connections": (Edge(ResourceId("place")),)}
        queued(main, RUN)
        pipeline = row(main, RUN).pipeline
        change(main, RelationsSet(pipeline, edges))

        assert trace_of(main, row(main, RUN)).inputs == (ResourceId("place"),)


def again(event: dict[str, Any]) -> RunEvent:
    """Return the event parsed by the OpenLineage client's classes, which check each field against the specification."""
    made = {
        "run": Run(**event["run"]),
        "job": Job(**event["job"]),
        "inputs": [InputDataset(**each) for each in event["inputs"]],
        "outputs": [OutputDataset(**each) for each in event["outputs"]],
        "eventType": RunState(event["eventType"]),
    }
    return RunEvent(**made, eventTime=event["eventTime"], producer=event["producer"])


class TestEvents:
    def test_events_describe_the_start_and_the_end_of_one_run(self, main: Organization) -> None:
        done = carried_out(main, touches)

        end, start = EventBuilder(main.control.snapshot).build_all(done, lambda: trace_of(main, done))

        assert [again(each).eventType for each in (start, end)] == [RunState.START, RunState.COMPLETE]
        assert start["run"]["runId"] == end["run"]["runId"]
        assert UUID(end["run"]["runId"]).version == 5
        assert end["eventTime"] == "1970-01-12T13:46:40.000Z"
        assert end["job"]["namespace"] == f"headgate://{main.id}"
        assert [each["name"] for each in end["inputs"]] == ["lake.raw.flights"]
        (output,) = end["outputs"]
        assert output["name"] == "lake.raw.planes"
        assert [(each["name"], each["type"]) for each in output["facets"]["schema"]["fields"]] == [
            ("tail", "string"),
            ("seats", "long"),
        ]
        (source,) = output["facets"]["columnLineage"]["fields"]["tail"]["inputFields"]
        assert (source["name"], source["field"]) == ("lake.raw.flights", "tailnum")
        assert output["outputFacets"]["outputStatistics"]["rowCount"] == 3
        assert end["run"]["facets"]["processing_engine"]["name"] == "Spark"

    def test_each_facet_of_an_event_names_its_producer_and_schema(self, main: Organization) -> None:
        done = carried_out(main, touches, trigger="schedule")

        end = EventBuilder(main.control.snapshot).build_end(done, trace_of(main, done))

        assert end["run"]["facets"]["nominalTime"]["nominalStartTime"] == "1970-01-12T13:46:40.000Z"
        facets = [*end["run"]["facets"].values(), *end["job"]["facets"].values(), *end["outputs"][0]["facets"].values()]
        assert {each["_producer"] for each in facets} == {PRODUCER}
        assert all(each["_schemaURL"].startswith("https://openlineage.io/spec/facets/") for each in facets)

    def test_an_event_has_the_error_message_for_permitted_callers_only(self, main: Organization) -> None:
        done = carried_out(main, refused)

        heard = EventBuilder(main.control.snapshot).build_end(done, RunTrace())
        hidden = EventBuilder(main.control.snapshot, says_why=False).build_end(done, RunTrace())

        assert heard["eventType"] == "FAIL"
        assert heard["run"]["facets"]["errorMessage"]["message"] == "the file `a.csv` is torn"
        assert "errorMessage" not in hidden["run"]["facets"]

    def test_an_event_counts_rows_for_callers_that_may_read_the_table(self, main: Organization) -> None:
        done = carried_out(main, touches)

        end = EventBuilder(main.control.snapshot, counts=lambda _: False).build_end(done, trace_of(main, done))

        assert "outputStatistics" not in json.dumps(end)

    def test_an_event_names_visible_and_existing_tables_only(self, main: Organization) -> None:
        done = carried_out(main, touches)
        trace = RunTrace((FLIGHTS, ResourceId("gone")), trace_of(main, done).outputs)

        end = EventBuilder(main.control.snapshot, lambda seen: seen != FLIGHTS).build_end(done, trace)

        assert end["inputs"] == []
        assert "columnLineage" not in end["outputs"][0]["facets"]
        assert "flights" not in json.dumps(end)


@contextmanager
def receiving(*answers: int) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    """Run a receiver of events with these status codes; yield its address, and the events that it accepted."""
    heard, left = list[tuple[str, Any]](), list(answers)

    async def gather(request: Request) -> Response:
        status = left.pop(0) if left else 201
        if status == 201:
            heard.append((request.headers.get("authorization", ""), await request.json()))
        return Response(status_code=status)

    with served(Starlette(routes=[Route("/api/v1/lineage", gather, methods=["POST"])])) as address:
        yield f"{address}/api/v1/lineage", heard


class TestSending:
    def test_each_event_is_sent_with_the_key_and_retried_while_the_receiver_is_unavailable(
        self, main: Organization
    ) -> None:
        with receiving(503, 429) as (url, heard):
            sending = Sending(Receiver(url, "secret"), wait=0.01)
            queued(main, RUN)
            working = worker(main, Work({RUN: [touches]}), lineage=LineageRecorder(sending.send))
            working.start()
            until(lambda: len(heard) == 2)
            working.stop()
            sending.close()

        assert [key for key, _ in heard] == ["Bearer secret"] * 2
        assert [again(event).eventType for _, event in heard] == [RunState.START, RunState.COMPLETE]

    def test_sending_continues_after_a_refused_event(
        self, main: Organization, caplog: pytest.LogCaptureFixture
    ) -> None:
        done = carried_out(main, touches)
        with receiving(400) as (url, heard):
            sending = Sending(Receiver(url), wait=0.01)
            sending.send(main, done, RunTrace())
            sending.send(main, done, trace_of(main, done))
            until(lambda: len(heard) == 1)
            sending.close()

        assert "refused an event of the run `one` with the status 400" in caplog.text
        assert [key for key, _ in heard] == [""]

    def test_sending_does_not_wait_for_an_unavailable_receiver(
        self, main: Organization, caplog: pytest.LogCaptureFixture
    ) -> None:
        done = carried_out(main, touches)
        sending = Sending(Receiver("http://127.0.0.1:1/nobody"), wait=60.0)

        for _ in range(1100):
            sending.send(main, done, RunTrace())

        assert "an event of the run `one` is not sent" in caplog.text
        sending.close(0.0)
