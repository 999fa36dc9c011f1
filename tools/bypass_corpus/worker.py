"""A process that attempts cases with the unmodified client: reads each case as a JSON line, and writes its result as one.

In a separate process, a case that hangs can be ended, and a case can reach the deployment only through its endpoints.
"""

import ast
import faulthandler
import gc
import json
import os
import signal
import sys
import warnings
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import grpc
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.connect import ParseException, SparkConnectGrpcException
from pyspark.sql import SparkSession, functions
from pyspark.sql.connect.client.core import SparkConnectClient
from pyspark.sql.connect.dataframe import DataFrame

from tools.bypass_corpus.verdicts import Ending

_SQLSTATE = "42501"
_LONGEST = 10_000
"""The longest part of a result that is returned, in characters."""
_CODES = (grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNAUTHENTICATED)


_raised: list[Exception] = []
"""The errors that the server has returned since the case began, also those that the client hides."""


def main() -> None:
    """Serve until standard input ends."""
    _remember_errors()
    faulthandler.register(signal.SIGUSR1)
    gc.disable()  # a garbage-collected session closes itself in the current thread, and may then wait for itself
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # the output of a case is not a result
    for line in sys.stdin:
        ending, message = attempt(**json.loads(line))
        print(json.dumps({"ending": ending.value, "message": message}), file=answers, flush=True)


def _remember_errors() -> None:
    handle = SparkConnectClient._handle_error  # noqa: SLF001 (the only place where errors become exceptions)

    def remembering(self: SparkConnectClient, error: Exception) -> None:
        try:
            handle(self, error)
        except Exception as raised:
            _raised.append(raised)
            raise

    SparkConnectClient._handle_error = remembering  # pyright: ignore[reportAttributeAccessIssue]  # noqa: SLF001


def attempt(
    port: int, token: str, kind: str, statement: str, before: list[str], seen: dict[str, str]
) -> tuple[Ending, str]:
    """Attempt one case in a new session; `before` are statements to run first, `seen` are the ids of alice that the case knows."""
    spark = SparkSession.builder.remote(f"sc://localhost:{port}/;token={token}").create()
    _raised.clear()
    answer: object = ""
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            for each in before:
                with suppress(PySparkException):  # another case tests these statements
                    spark.sql(each)
            if kind == "sql":
                answer = spark.sql(statement).collect()
            else:
                answer = _run(statement, {"spark": spark, "F": functions, "alice": SimpleNamespace(**seen)})
    except BaseException as raised:  # noqa: BLE001 (a case may raise anything; `_ending` classifies it)
        error = _converted(spark, raised)
        return _ending(error), _message(error)
    else:
        return _unraised([str(warning.message) for warning in heard], answer)
    finally:
        _end(spark)


def _unraised(heard: list[str], answer: object) -> tuple[Ending, str]:
    """Return the ending and the result of a case that raised nothing. For some refusals, the client only warns."""
    for error in _raised:
        if _ending(error) is Ending.REFUSED and any(str(error) in warning for warning in heard):
            return Ending.REFUSED, f"{_message(error)} (the client only warns)"
    return Ending.SERVED, repr(answer)[:_LONGEST]


def _run(statement: str, names: dict[str, Any]) -> object:
    """Run Python and return its value; for a DataFrame its rows, because the client sends no request before."""
    tree = ast.parse(statement)
    last = tree.body[-1]
    before = tree.body[:-1] if isinstance(last, ast.Expr) else tree.body
    exec(compile(ast.Module(before, []), "case", "exec"), names)  # noqa: S102 (the cases are Python)
    if not isinstance(last, ast.Expr):
        return ""
    value = eval(compile(ast.Expression(last.value), "case", "eval"), names)  # noqa: S307 (the same)
    return value.collect() if isinstance(value, DataFrame) else value


def _end(spark: SparkSession) -> None:
    try:
        spark.stop()
    except Exception as error:  # noqa: BLE001 (the case is over; its session expires)
        print(f"a session could not be closed: {error}", file=sys.stderr)


def _converted(spark: SparkSession, error: BaseException) -> BaseException:
    """Return the exception of the client for an error of a call that the case made without the client."""
    if isinstance(error, grpc.RpcError):
        try:
            spark.client._handle_rpc_error(error)  # noqa: SLF001 (there is no public way)
        except SparkConnectGrpcException as converted:
            return converted
    return error


def _ending(error: BaseException) -> Ending:
    if isinstance(error, SparkConnectGrpcException):
        if error.getSqlState() == _SQLSTATE or error.getGrpcStatusCode() in _CODES:
            return Ending.REFUSED
        return Ending.REJECTED if isinstance(error, ParseException) else Ending.FAILED
    return Ending.REJECTED


def _message(error: BaseException) -> str:
    plain = " ".join(str(error).split("JVM stacktrace")[0].split())
    return plain if isinstance(error, PySparkException) else f"{type(error).__name__}: {plain}"


if __name__ == "__main__":
    main()
