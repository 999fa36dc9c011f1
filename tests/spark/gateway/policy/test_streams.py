"""File streams: only for runs, with a schema, below declared paths, and with checkpoints in the expected folder."""

from typing import Any

import pytest

from headgate.facts.caller import Caller
from headgate.spark.gateway.errors import RequestRefusedError
from headgate.spark.gateway.rpcs import EXECUTE_PLAN
from tests.spark.gateway.admission_cases import (
    ANN,
    IN_THE_DROP,
    RUN,
    SESSION,
    a_range,
    admit_as,
    base,
    commands,
    relations,
)

PROGRESS = "/progress/q"


def read(caller: Caller = RUN, **changed: Any) -> None:
    """Try a stream of files."""
    source = {"format": "csv", "paths": [IN_THE_DROP], "schema": "a STRING", **changed}
    relation = relations.Relation(read={"is_streaming": True, "data_source": source})
    plan = base.Plan(root=relation)
    admit_as(caller, EXECUTE_PLAN, base.ExecutePlanRequest(session_id=SESSION, plan=plan).SerializeToString())


def write(caller: Caller = RUN, **options: str) -> None:
    """Try a stream into a table."""
    start = {"input": a_range(), "table_name": "lake.raw.t", "options": options, "available_now": True}
    plan = base.Plan(command=commands.Command(write_stream_operation_start=start))
    admit_as(caller, EXECUTE_PLAN, base.ExecutePlanRequest(session_id=SESSION, plan=plan).SerializeToString())


class TestFiles:
    def test_a_run_streams_files_of_its_declared_path(self) -> None:
        read()
        read(format="json", options={"maxFilesPerTrigger": "1", "mode": "FAILFAST"})

    def test_a_run_streams_rows_that_a_source_generates(self) -> None:
        read(format="rate", paths=[], schema="", options={"rowsPerSecond": "1"})
        read(format="rate-micro-batch", paths=[], schema="", options={"rowsPerBatch": "1"})

    @pytest.mark.parametrize(
        "changed",
        [
            {"caller": ANN},
            {"schema": ""},
            {"paths": []},
            {"paths": ["file:/etc"]},
            {"paths": [IN_THE_DROP, "file:/etc"]},
            {"format": "binaryFile"},
            {"format": "rate"},
            {"format": "rate-micro-batch"},
            {"options": {"cleanSource": "delete"}},
            {"options": {"sourceArchiveDir": "/x"}},
            {"options": {"path": "/etc"}},
        ],
        ids=str,
    )
    def test_any_other_stream_of_files_is_refused(self, changed: dict[str, Any]) -> None:
        with pytest.raises(RequestRefusedError):
            read(**changed)


class TestProgress:
    def test_a_run_stores_the_progress_of_a_stream_in_its_folder(self) -> None:
        write(checkpointLocation=PROGRESS)

    @pytest.mark.parametrize(
        ("caller", "options"),
        [
            (ANN, {"checkpointLocation": PROGRESS}),
            (RUN, {"checkpointLocation": "/elsewhere"}),
            (RUN, {"checkpointLocation": ""}),
            (RUN, {"checkpointLocation": PROGRESS, "CheckpointLocation": "/elsewhere"}),
        ],
        ids=str,
    )
    def test_a_checkpoint_location_elsewhere_is_refused(self, caller: Caller, options: dict[str, str]) -> None:
        with pytest.raises(RequestRefusedError):
            write(caller, **options)
