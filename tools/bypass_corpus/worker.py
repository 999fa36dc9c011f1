"""A process that tries cases with the stock client, one at a time, as JSON lines: a case in, what came of it out.

It is a process of its own so that a case that hangs can be ended, and none can touch the stack but through its endpoints.
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
"""Characters of an answer that are handed on."""
_CODES = (grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNAUTHENTICATED)


_raised: list[Exception] = []
"""What the server has answered with since the case began, whatever the client made of it."""


def main() -> None:
    """Serve until standard input ends."""
    _remember_errors()
    faulthandler.register(signal.SIGUSR1)
    gc.disable()  # a session that is collected ends itself on whatever thread that is, and may then wait for itself
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a case prints is no answer
    for line in sys.stdin:
        ending, message = attempt(**json.loads(line))
        print(json.dumps({"ending": ending.value, "message": message}), file=answers, flush=True)


def _remember_errors() -> None:
    handle = SparkConnectClient._handle_error  # noqa: SLF001 (the one place where answers become exceptions)

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
    """Try one case in a new session; `before` are statements to run first, `seen` is what a case knows of alice."""
    spark = SparkSession.builder.remote(f"sc://localhost:{port}/;token={token}").create()
    _raised.clear()
    answer: object = ""
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            for each in before:
                with suppress(PySparkException):  # what is refused there, a case of its own says
                    spark.sql(each)
            if kind == "sql":
                answer = spark.sql(statement).collect()
            else:
                answer = _run(statement, {"spark": spark, "F": functions, "alice": SimpleNamespace(**seen)})
    except BaseException as raised:  # noqa: BLE001 (a case may raise anything; it is told apart below)
        error = _converted(spark, raised)
        return _ending(error), _message(error)
    else:
        return _unraised([str(warning.message) for warning in heard], answer)
    finally:
        _end(spark)


def _unraised(heard: list[str], answer: object) -> tuple[Ending, str]:
    """Return how a case ended that raised nothing, and its answer; of some refusals the client only warns."""
    for error in _raised:
        if _ending(error) is Ending.REFUSED and any(str(error) in warning for warning in heard):
            return Ending.REFUSED, f"{_message(error)} (the client only warns)"
    return Ending.SERVED, repr(answer)[:_LONGEST]


def _run(statement: str, names: dict[str, Any]) -> object:
    """Run Python and return its value; if that is a DataFrame, its rows: the client asks for nothing before."""
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
        print(f"a session could not be ended: {error}", file=sys.stderr)


def _converted(spark: SparkSession, error: BaseException) -> BaseException:
    """Return what the client makes of an answer to a call that the case made itself, around the client."""
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
