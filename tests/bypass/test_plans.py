"""The gateway refuses plans of statements that Spark would drop or fail before it requests a decision."""

from typing import Any

import pytest

from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, TokenId
from headgate.spark.gateway import protos
from headgate.spark.gateway.admission import admit
from headgate.spark.gateway.errors import RequestRefusedError
from headgate.spark.gateway.policy.rules import RequestingCaller
from headgate.spark.gateway.rpcs import ANALYZE_PLAN, EXECUTE_PLAN

# The type stubs do not accept nested messages written as dicts.
base: Any = protos.base
SESSION = "00000000-0000-0000-0000-000000000001"
READER = RequestingCaller(Caller(PrincipalId("ann"), TokenId("t1")), lambda _caller, _action, _path: False)


def execute(**root: Any) -> None:
    request = base.ExecutePlanRequest(session_id=SESSION, plan={"root": root})
    admit(EXECUTE_PLAN, request.SerializeToString(), READER)


class TestAnArgumentOfSql:
    @pytest.mark.parametrize(
        "argument",
        [
            {"literal": {"string": "a"}},
            {"unresolved_function": {"function_name": "array", "arguments": [{"literal": {"integer": 1}}]}},
        ],
    )
    def test_an_sql_argument_of_literals_passes(self, argument: dict[str, Any]) -> None:
        execute(sql={"query": "SELECT :a", "named_arguments": {"a": argument}})
        execute(sql={"query": "SELECT ?", "pos_arguments": [argument]})

    @pytest.mark.parametrize(
        "argument",
        [
            {"expression_string": {"expression": "(SELECT max(amount) FROM lake.secret.salaries)"}},
            {"unresolved_function": {"function_name": "reflect"}},
            {
                "unresolved_function": {
                    "function_name": "array",
                    "arguments": [{"expression_string": {"expression": "1"}}],
                }
            },
        ],
    )
    def test_an_sql_argument_that_would_be_evaluated_is_refused(self, argument: dict[str, Any]) -> None:
        with pytest.raises(RequestRefusedError, match="of the SQL statement is not a literal"):
            execute(sql={"query": "SELECT :a", "named_arguments": {"a": argument}})
        with pytest.raises(RequestRefusedError, match="of the SQL statement is not a literal"):
            execute(sql={"query": "SELECT ?", "pos_arguments": [argument]})


class TestAnAnalysis:
    @pytest.mark.parametrize("kind", ["schema", "is_local", "is_streaming", "semantic_hash", "tree_string"])
    def test_an_analysis_of_a_command_is_refused(self, kind: str) -> None:
        command = {"plan": {"command": {"sql_command": {"sql": "DROP TABLE lake.secret.salaries"}}}}
        request = base.AnalyzePlanRequest(session_id=SESSION, **{kind: command})

        with pytest.raises(RequestRefusedError, match="and the request has a command; analyse a query instead"):
            admit(ANALYZE_PLAN, request.SerializeToString(), READER)
