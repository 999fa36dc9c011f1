"""The outcome of an attempt at a case, and the effects that it had."""

from pathlib import Path

import grpc
import pytest
from pyspark.errors import PySparkValueError
from pyspark.errors.exceptions.connect import AnalysisException, ParseException, SparkConnectGrpcException

from tools.bypass_corpus.clients import Client
from tools.bypass_corpus.state import State, effects
from tools.bypass_corpus.verdicts import Ending
from tools.bypass_corpus.worker import _ending

BEFORE = State(3, {"lake.raw.flights": "m0"}, frozenset({"lake.raw"}), {"/w/a": (1, 1)})


@pytest.mark.parametrize(
    ("error", "ending"),
    [
        (AnalysisException("no", sql_state="42501"), Ending.REFUSED),
        (SparkConnectGrpcException("no", grpc_status_code=grpc.StatusCode.PERMISSION_DENIED), Ending.REFUSED),
        (SparkConnectGrpcException("no", grpc_status_code=grpc.StatusCode.UNAUTHENTICATED), Ending.REFUSED),
        (SparkConnectGrpcException("gone", grpc_status_code=grpc.StatusCode.UNAVAILABLE), Ending.FAILED),
        (AnalysisException("not found", sql_state="42P01"), Ending.FAILED),
        (ParseException("syntax", sql_state="42601"), Ending.REJECTED),
        (PySparkValueError("client"), Ending.REJECTED),
        (FileNotFoundError("client"), Ending.REJECTED),
    ],
)
def test_each_error_is_classified_as_the_ending_of_a_case(error: Exception, ending: Ending) -> None:
    assert _ending(error) is ending


def test_a_case_that_hangs_is_ended(tmp_path: Path) -> None:
    with Client(tmp_path, tmp_path / "log", limit=0.2) as client:
        ending, _ = client.attempt(port=1, token="", kind="dataframe", statement="1", before=[], seen={})

    assert ending is Ending.TIMED_OUT


@pytest.mark.parametrize(
    "after",
    [
        State(4, BEFORE.pointers, BEFORE.databases, BEFORE.files),
        State(3, {"lake.raw.flights": "m1"}, BEFORE.databases, BEFORE.files),
        State(3, {}, BEFORE.databases, BEFORE.files),
        State(3, BEFORE.pointers, BEFORE.databases, {}),
        State(3, BEFORE.pointers, BEFORE.databases, {"/w/a": (1, 2)}),
        State(3, BEFORE.pointers, BEFORE.databases, {"/w/a": (1, 1), "/data/b": (0, 0)}),
    ],
    ids=["a fact", "a commit", "a deleted table", "a deleted file", "a rewritten file", "an added file"],
)
def test_each_kind_of_change_is_an_effect(after: State) -> None:
    assert effects(BEFORE, after)


def test_an_unchanged_state_has_no_effects() -> None:
    assert effects(BEFORE, BEFORE) == ()
