"""What ends an attempt: a decision, Spark that is away, or the work itself."""

import grpc
import pytest
from pyspark.errors.exceptions.connect import AnalysisException, SparkConnectGrpcException

from headgate.control.text.error_text import REFUSED_STATE
from headgate.pipelines.errors import failure
from headgate.spark import deciding_authority
from headgate.spark.gateway.errors import NoSessionError
from headgate.spark.sessions.operations import SESSION_ENDED
from headgate.spark.sql import statements


def by_spark(message: str, sqlstate: str | None = None) -> Exception:
    return AnalysisException(message=message, sql_state=sqlstate)


def by_grpc(code: grpc.StatusCode) -> Exception:
    return SparkConnectGrpcException(message="what it says", grpc_status_code=code)


class TestAFailure:
    def test_is_a_refusal_by_its_state(self) -> None:
        found = failure(by_spark("you may not", REFUSED_STATE))

        assert (found.words, found.refused, found.away) == ("you may not", True, False)

    @pytest.mark.parametrize("sqlstate", [statements.NOT_CONNECTED, statements.DRIVER_LOST])
    def test_is_none_of_the_work_where_the_driver_was_lost(self, sqlstate: str) -> None:
        assert failure(by_spark("the driver ended", sqlstate)).away

    @pytest.mark.parametrize("code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAUTHENTICATED])
    def test_is_none_of_the_work_where_nobody_answers(self, code: grpc.StatusCode) -> None:
        assert failure(by_grpc(code)).away

    @pytest.mark.parametrize(
        "message",
        [
            SESSION_ENDED,
            deciding_authority._NO_TOKEN,
            "access cannot be decided right now, so it is refused; try again",
            NoSessionError().message,
            "[INVALID_HANDLE.OPERATION_NOT_FOUND] The handle is invalid",
            "Job 3 cancelled because SparkContext was shut down",
            "[RETRIES_EXCEEDED] The maximum number of retries has been exceeded.",
        ],
    )
    def test_is_none_of_the_work_where_a_session_was_lost_whatever_state_it_has(self, message: str) -> None:
        assert failure(by_spark(message, REFUSED_STATE)).away

    @pytest.mark.parametrize(
        "error",
        [by_spark("no such table", "42P01"), ValueError("x"), by_grpc(grpc.StatusCode.INTERNAL)],
        ids=["spark", "python", "grpc"],
    )
    def test_is_of_the_work_else(self, error: Exception) -> None:
        found = failure(error)

        assert (found.refused, found.away) == (False, False)

    def test_has_no_words_of_the_machine_behind_it(self) -> None:
        assert failure(ValueError("no such table\n\nJVM stacktrace:\nat a.b")).words == "no such table"
        assert failure(ValueError()).words == "ValueError"
