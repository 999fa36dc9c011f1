"""Causes of a failed attempt: a refusal, an unavailable Spark, or the work itself."""

import grpc
import pytest
from pyspark.errors.exceptions.connect import AnalysisException, SparkConnectGrpcException

from headgate.control.text.error_text import REFUSED_STATE
from headgate.pipelines.errors import describe_failure
from headgate.spark import deciding_authority
from headgate.spark.gateway.errors import NoSessionError
from headgate.spark.sessions.running_operations import SESSION_ENDED
from headgate.spark.sql import statements


def by_spark(message: str, sqlstate: str | None = None) -> Exception:
    return AnalysisException(message=message, sql_state=sqlstate)


def by_grpc(code: grpc.StatusCode) -> Exception:
    return SparkConnectGrpcException(message="what it says", grpc_status_code=code)


class TestAFailure:
    def test_an_error_with_the_refused_sqlstate_is_a_refusal(self) -> None:
        found = describe_failure(by_spark("you may not", REFUSED_STATE))

        assert (found.words, found.refused, found.away) == ("you may not", True, False)

    @pytest.mark.parametrize("sqlstate", [statements.NOT_CONNECTED, statements.DRIVER_LOST])
    def test_a_lost_driver_counts_as_an_unavailable_spark(self, sqlstate: str) -> None:
        assert describe_failure(by_spark("the driver ended", sqlstate)).away

    @pytest.mark.parametrize("code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAUTHENTICATED])
    def test_an_unreachable_or_unauthenticated_gateway_counts_as_an_unavailable_spark(
        self, code: grpc.StatusCode
    ) -> None:
        assert describe_failure(by_grpc(code)).away

    @pytest.mark.parametrize(
        "message",
        [
            SESSION_ENDED,
            deciding_authority._NO_TOKEN,
            "access cannot be decided right now, so the statement is refused; run it again in a few seconds",
            NoSessionError().message,
            "[INVALID_HANDLE.OPERATION_NOT_FOUND] The handle is invalid",
            "Job 3 cancelled because SparkContext was shut down",
            "[RETRIES_EXCEEDED] The maximum number of retries has been exceeded.",
        ],
    )
    def test_a_lost_session_counts_as_an_unavailable_spark_despite_its_sqlstate(self, message: str) -> None:
        assert describe_failure(by_spark(message, REFUSED_STATE)).away

    @pytest.mark.parametrize(
        "error",
        [by_spark("no such table", "42P01"), ValueError("x"), by_grpc(grpc.StatusCode.INTERNAL)],
        ids=["spark", "python", "grpc"],
    )
    def test_every_other_error_is_a_failure_of_the_run(self, error: Exception) -> None:
        found = describe_failure(error)

        assert (found.refused, found.away) == (False, False)

    def test_a_failure_is_described_without_a_jvm_stack_trace(self) -> None:
        assert describe_failure(ValueError("no such table\n\nJVM stacktrace:\nat a.b")).words == "no such table"
        assert describe_failure(ValueError()).words == "ValueError"
