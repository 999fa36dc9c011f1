"""Requests with many messages in few bytes: each shape with the requested number of parts."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import zstandard
from google.protobuf.message import Message

from headgate.spark.gateway.rpcs import (
    ADD_ARTIFACTS,
    ANALYZE_PLAN,
    ARTIFACT_STATUS,
    CLONE_SESSION,
    CONFIG_RPC,
    EXECUTE_PLAN,
    INTERRUPT,
    RELEASE_EXECUTE,
    Rpc,
)
from tests.spark.gateway.admission_cases import SESSION, a_range, a_table, base, commands, relations

Sent = tuple[Rpc, bytes]
TRUE = {"literal": {"boolean": True}}
_INPUT, _EXPRESSIONS, _ROOT, _LEFT, _RIGHT = 1, 3, 1, 1, 2
_PROJECT = relations.Relation.DESCRIPTOR.fields_by_name["project"].number
_JOIN = relations.Relation.DESCRIPTOR.fields_by_name["join"].number
_SQL = relations.Relation.DESCRIPTOR.fields_by_name["sql"].number
_POSITIONAL = relations.SQL.DESCRIPTOR.fields_by_name["pos_arguments"].number
_CALL = (
    relations.SQL.DESCRIPTOR.fields_by_name["pos_arguments"].message_type.fields_by_name["unresolved_function"].number
)
_NAME, _ARGUMENTS = 1, 2
_PLAN = base.ExecutePlanRequest.DESCRIPTOR.fields_by_name["plan"].number


def field(number: int, content: bytes) -> bytes:
    """Return an encoded field of bytes."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    """Return an encoded number."""
    written = bytearray()
    while value >= 128:
        written.append(value & 127 | 128)
        value >>= 7
    return bytes([*written, value])


def projection(expressions: bytes) -> bytes:
    """Return a relation with expressions that are encoded already."""
    return field(_PROJECT, field(_INPUT, a_range().SerializeToString()) + expressions)


def projected(expression: Mapping[str, Any], times: int = 1) -> bytes:
    """Return a relation that contains the same expression several times."""
    one = relations.Project(expressions=[expression]).SerializeToString()
    return projection(one * times)


def plain(root: bytes) -> Sent:
    """Return the request that runs a query."""
    start = base.ExecutePlanRequest(session_id=SESSION).SerializeToString()
    return EXECUTE_PLAN, start + field(_PLAN, field(_ROOT, root))


def packed(root: bytes, kind: int = 1) -> dict[str, Any]:
    """Return a compressed plan."""
    return {
        "compressed_operation": {"data": zstandard.compress(root), "op_type": kind, "compression_codec": 1},
    }


def compressed(root: bytes) -> Sent:
    """Return the request that runs a query that is compressed."""
    return EXECUTE_PLAN, base.ExecutePlanRequest(session_id=SESSION, plan=packed(root)).SerializeToString()


def analyzed(root: bytes) -> Sent:
    """Return the request for the schema of a compressed query."""
    request = base.AnalyzePlanRequest(session_id=SESSION, schema={"plan": packed(root)})
    return ANALYZE_PLAN, request.SerializeToString()


def compared(root: bytes) -> Sent:
    """Return the request that compares a compressed query with another."""
    plans = {"target_plan": {"root": a_range()}, "other_plan": packed(root)}
    request = base.AnalyzePlanRequest(session_id=SESSION, same_semantics=plans)
    return ANALYZE_PLAN, request.SerializeToString()


def command(**kind: Any) -> Sent:
    """Return the request that runs a command that is compressed."""
    plan = packed(commands.Command(**kind).SerializeToString(), kind=2)
    return EXECUTE_PLAN, base.ExecutePlanRequest(session_id=SESSION, plan=plan).SerializeToString()


def _relation(**kind: Any) -> Sent:
    message: Message = relations.Relation(**kind)
    return compressed(message.SerializeToString())


def _metadata(parts: int) -> str:
    """Return JSON metadata with the given number of parts."""
    return json.dumps({"comment": "x" * (16 * parts)})


def _schema(parts: int) -> str:
    """Return a JSON schema with the given number of parts."""
    return json.dumps({"type": "struct", "fields": "x" * (16 * parts)})


def branching(parts: int) -> bytes:
    """Return nested joins: a tree of messages that no repeated field produces."""
    level = a_range().SerializeToString()
    for _ in range((parts // 2).bit_length() - 1):
        level = field(_JOIN, field(_LEFT, level) + field(_RIGHT, level))
    return level


def nested_argument(levels: int) -> bytes:
    """Return a statement with an argument of nested arrays.

    It is encoded by hand, because Python cannot build a message of this depth.
    """
    argument = relations.Project(expressions=[TRUE]).expressions[0].SerializeToString()
    for _ in range(levels):
        argument = field(_CALL, field(_NAME, b"array") + field(_ARGUMENTS, argument))
    return field(_SQL, field(_POSITIONAL, argument))


WAYS: dict[str, Callable[[bytes], Sent]] = {
    "a query": plain,
    "a compressed query": compressed,
    "an analysis": analyzed,
    "a comparison": compared,
}
SHAPES: dict[str, Callable[[int], Sent]] = {
    "literals": lambda n: compressed(projected(TRUE, n)),
    "empty expressions": lambda n: compressed(projection(field(_EXPRESSIONS, b"") * n)),
    "arguments": lambda n: compressed(
        projected({"unresolved_function": {"function_name": "array", "arguments": [TRUE] * n}})
    ),
    "elements of arrays": lambda n: compressed(
        projected({"literal": {"array": {"elements": [{"null": {}}] * 100}}}, n // 101)
    ),
    "keys and values of maps": lambda n: compressed(
        projected({"literal": {"map": {"keys": [{"integer": 1}] * 50, "values": [{"integer": 1}] * 50}}}, n // 101)
    ),
    "numbers of arrays": lambda n: compressed(
        projected({"literal": {"specialized_array": {"longs": {"values": [1] * n}}}})
    ),
    "truths of arrays": lambda n: compressed(
        projected({"literal": {"specialized_array": {"bools": {"values": [True] * n}}}})
    ),
    "names of columns": lambda n: _relation(to_df={"input": a_range(), "column_names": ["x"] * n}),
    "renamed columns": lambda n: _relation(
        with_columns_renamed={"input": a_range(), "rename_columns_map": {str(at): "x" for at in range(n)}}
    ),
    "arguments of SQL": lambda n: _relation(sql={"query": "SELECT 1", "pos_arguments": [TRUE] * n}),
    "named arguments of SQL": lambda n: _relation(
        sql={"query": "SELECT 1", "named_arguments": {str(at): TRUE for at in range(n // 2)}}
    ),
    "columns of types": lambda n: compressed(
        projected(
            {
                "cast": {
                    "expr": TRUE,
                    "type": {"struct": {"fields": [{"name": "x", "data_type": {"integer": {}}}] * (n // 2)}},
                }
            }
        )
    ),
    "relations": lambda n: _relation(
        with_relations={"root": a_range(), "references": [{"subquery_alias": {"alias": "x"}}] * n}
    ),
    "cases of a merge": lambda n: command(
        merge_into_table_command={
            "target_table_name": "lake.raw.t",
            "match_actions": [{"merge_action": {"action_type": 1}}] * n,
        }
    ),
    "options": lambda n: _relation(read=a_table(**{f"{at}": "x" for at in range(n)})),
    "columns of a write": lambda n: command(
        write_operation_v2={"input": a_range(), "table_name": "t", "clustering_columns": ["x"] * n, "mode": 2}
    ),
    "characters of metadata": lambda n: compressed(
        projected({"alias": {"expr": TRUE, "name": ["x"], "metadata": _metadata(n)}})
    ),
    "characters of a type": lambda n: compressed(projected({"cast": {"expr": TRUE, "type_str": _schema(n)}})),
    "characters of a nested type": lambda n: compressed(
        projected({"cast": {"expr": TRUE, "type": {"unparsed": {"data_type_string": _schema(n)}}}})
    ),
    "characters of a schema": lambda n: _relation(local_relation={"schema": _schema(n)}),
    "branches": lambda n: compressed(branching(n)),
}
"""Name -> the request with about the requested number of parts, most of them compressed."""
OTHER_CALLS: dict[str, Callable[[int], Sent]] = {
    "settings": lambda n: (
        CONFIG_RPC,
        base.ConfigRequest(session_id=SESSION, operation={"set": {"pairs": [{"key": "x"}] * n}}).SerializeToString(),
    ),
    "artifacts": lambda n: (
        ADD_ARTIFACTS,
        base.AddArtifactsRequest(
            session_id=SESSION, batch={"artifacts": [{"name": "cache/" + "0" * 64}] * n}
        ).SerializeToString(),
    ),
    "names of artifacts": lambda n: (
        ARTIFACT_STATUS,
        base.ArtifactStatusesRequest(session_id=SESSION, names=["x"] * n).SerializeToString(),
    ),
    "tags": lambda n: (EXECUTE_PLAN, base.ExecutePlanRequest(session_id=SESSION, tags=["x"] * n).SerializeToString()),
    "unknown fields of a release": lambda n: _unknown(RELEASE_EXECUTE, n),
    "unknown fields of an interrupt": lambda n: _unknown(INTERRUPT, n),
    "unknown fields of a clone": lambda n: _unknown(CLONE_SESSION, n),
}


def _unknown(rpc: Rpc, times: int) -> Sent:
    return rpc, rpc.request(session_id=SESSION).SerializeToString() + field(1000, b"") * times
