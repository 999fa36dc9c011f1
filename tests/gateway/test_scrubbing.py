"""Errors tell a user what the statement did wrong, and nothing of what else there is."""

from typing import Any

import grpc
import pytest
from google.protobuf.any_pb2 import Any as AnyProto
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

from headgate.spark.gateway import protos
from headgate.spark.gateway.scrubbing import mask, scrub, scrub_chain

base: Any = protos.base  # nested messages are written as dicts here, which the stubs do not know
INTERNAL = grpc.StatusCode.INTERNAL
INSIDE = "Lost task (node7.corp executor 3): open /warehouse/secret/salaries/a.parquet\n\tat x.Y(Z.java:1)"


def rich(message: str, **metadata: str) -> bytes:
    detail = AnyProto()
    detail.Pack(ErrorInfo(reason="org.apache.spark.SparkException", metadata=metadata))
    return Status(code=13, message=message, details=[detail]).SerializeToString()


def metadata(status: bytes) -> dict[str, str]:
    info = ErrorInfo()
    Status.FromString(status).details[0].Unpack(info)
    return dict(info.metadata)


def test_a_refusal_has_one_code_and_only_its_sentence() -> None:
    refused = rich("ann may not read that", sqlState="42501", errorId="e1", stackTrace="at x.Y", classes="[]")

    code, text, status = scrub(INTERNAL, refused)

    assert code is grpc.StatusCode.PERMISSION_DENIED
    assert text == Status.FromString(status).message == "ann may not read that"
    assert metadata(status) == {"sqlState": "42501", "classes": "[]"}


@pytest.mark.parametrize("more", [{}, {"sqlState": "XX000"}], ids=str)
def test_an_internal_error_keeps_its_first_line_without_places(more: dict[str, str]) -> None:
    code, text, status = scrub(INTERNAL, rich(INSIDE, errorId="e1", stackTrace="at x.Y", **more))

    assert (code, text) == (INTERNAL, "Lost task (<host>): open <path>")
    assert Status.FromString(status).message == text
    assert metadata(status) == more


def test_sparks_own_words_about_a_statement_stay() -> None:
    own = rich("[UNRESOLVED_COLUMN] no `x` in a/b", sqlState="42703", errorId="e1")

    assert scrub(INTERNAL, own) == (INTERNAL, "[UNRESOLVED_COLUMN] no `x` in a/b", own)


def test_what_cannot_be_read_says_nothing() -> None:
    _, text, status = scrub(INTERNAL, b"\xff secret")

    assert not text
    assert not Status.FromString(status).message


def test_the_causes_of_an_error_tell_no_more() -> None:
    errors = [
        {"message": "[DIVIDE_BY_ZERO] ...", "spark_throwable": {"sql_state": "22012"}, "stack_trace": [{}]},
        {"message": INSIDE, "stack_trace": [{"declaring_class": "x.Y"}]},
    ]
    answer = base.FetchErrorDetailsResponse(errors=errors).SerializeToString()

    shown = base.FetchErrorDetailsResponse.FromString(scrub_chain(answer)).errors

    assert [error.message for error in shown] == ["[DIVIDE_BY_ZERO] ...", "Lost task (<host>): open <path>"]
    assert not any(error.stack_trace for error in shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cannot open file:/warehouse/secret/a", "cannot open <path>"),
        ("cannot open s3a://bucket/secret: it is away", "cannot open <path> it is away"),
        ("no connection to 10.0.0.7:7077", "no connection to <host>"),
        ("no connection to localhost:42133", "no connection to <host>"),
        ("use Spark built-in `versionAsOf` instead", "use Spark built-in `versionAsOf` instead"),
        ("the pattern yyyy/MM/dd does not fit 1/2", "the pattern yyyy/MM/dd does not fit 1/2"),
    ],
)
def test_places_are_masked_and_words_are_not(text: str, shown: str) -> None:
    assert mask(text) == shown
