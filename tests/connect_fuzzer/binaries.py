"""Bytes that Spark parses - sketches, filters, bitmaps, variants and shapes - and calls that read them."""

import io
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from headgate.spark.gateway.protos import base
from headgate.spark.gateway.rpcs import EXECUTE_PLAN
from tests.connect_fuzzer.messages import Request

RECORDED: Final = Path(__file__).with_suffix(".jsonl")
"""Values that Spark has created, each with its name and its SQL; `binary_recorder` writes the file."""
_POINT: Final = struct.pack("<BIdd", 1, 1, 1.5, 2.5)
_SHAPES: Final = {
    "wkb point": _POINT,
    "wkb line": struct.pack("<BII4d", 1, 2, 2, 0.0, 0.0, 1.0, 1.0),
    "wkb polygon": struct.pack("<BIII8d", 1, 3, 1, 4, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0),
    "wkb collection": struct.pack("<BII", 1, 7, 1) + _POINT,
}
_BITMAP_BYTES: Final = 4096
_SAME: Final = object()
"""The placeholder for the bytes among the arguments of a function."""
_ITEMS: Final = object()
"""The placeholder for the struct that contains the bytes of an `approx_top_k_accumulate`."""
_KLL: Final[Sequence[tuple[str, Sequence[object]]]] = (
    ("kll_sketch_get_n_{kind}", (_SAME,)),
    ("kll_sketch_get_quantile_{kind}", (_SAME, 0.5)),
    ("kll_sketch_get_rank_{kind}", (_SAME, 1)),
    ("kll_sketch_to_string_{kind}", (_SAME,)),
    ("kll_sketch_merge_{kind}", (_SAME, _SAME)),
    ("kll_merge_agg_{kind}", (_SAME,)),
)
_READERS: Final[Mapping[str, Sequence[tuple[str, Sequence[object]]]]] = {
    "hll": (
        ("hll_sketch_estimate", (_SAME,)),
        ("hll_union", (_SAME, _SAME, True)),
        ("hll_union_agg", (_SAME, True)),
    ),
    "theta": (
        ("theta_sketch_estimate", (_SAME,)),
        ("theta_union", (_SAME, _SAME)),
        ("theta_intersection", (_SAME, _SAME)),
        ("theta_difference", (_SAME, _SAME)),
        ("theta_union_agg", (_SAME,)),
        ("theta_intersection_agg", (_SAME,)),
    ),
    **{
        f"kll {kind}": [(name.format(kind=kind), more) for name, more in _KLL] for kind in ("bigint", "double", "float")
    },
    "items": (("approx_top_k_estimate", (_ITEMS, 3)), ("approx_top_k_combine", (_ITEMS, 100))),
    "bitmap": (("bitmap_count", (_SAME,)), ("bitmap_or_agg", (_SAME,)), ("bitmap_and_agg", (_SAME,))),
    # Only clients read these values; no function in a plan does.
    "bloom": (),
    "count-min": (),
    "wkb": (("st_geogfromwkb", (_SAME,)), ("st_geomfromwkb", (_SAME,))),
}
_OF_VARIANTS: Final[Sequence[tuple[str, Sequence[object]]]] = (
    ("variant_get", (_SAME, "$.a[1]", "double")),
    ("try_variant_get", (_SAME, "$.b", "string")),
    ("schema_of_variant", (_SAME,)),
    ("schema_of_variant_agg", (_SAME,)),
    ("is_variant_null", (_SAME,)),
    ("to_json", (_SAME,)),
)


def wholes() -> Mapping[str, bytes]:
    """Return well-formed values by their names, which begin with their kind.

    A variant consists of two values: `value` and `metadata`.
    """
    lines = map(json.loads, RECORDED.read_text(encoding="utf-8").splitlines())
    recorded = {each["name"]: bytes.fromhex(each["hex"]) for each in lines}
    whole_bitmap = recorded["bitmap cut"].ljust(_BITMAP_BYTES, b"\0")
    return {**recorded, "bitmap whole": whole_bitmap, **_SHAPES}


def damaged(content: bytes) -> Iterator[bytes]:
    """Yield damaged copies of a value.

    One is truncated, one has another first byte, and others have a huge length at the usual offsets.
    """
    yield content[: len(content) // 2]
    yield b"\xff" + content[1:]
    for place in (4, 8, 16):
        if place < len(content):
            yield (content[:place] + struct.pack("<i", 2**31 - 1) + content[place + 4 :])[: len(content)]


def values() -> Sequence[bytes]:
    """Return every well-formed value, and one damaged copy of each."""
    found = list(wholes().values())
    ways = [tuple(damaged(each)) for each in found]
    return (*found, *(each[place % len(each)] for place, each in enumerate(ways)))


def calls() -> Iterator[Request]:
    """Yield requests that read every well-formed value, each with all functions that read its kind."""
    found = wholes()
    for name, content in found.items():
        for function, arguments in _readers(name):
            yield _request(_call(function, arguments, _literal(content)))
    value, metadata = found["variant value"], found["variant metadata"]
    for function, arguments in _OF_VARIANTS:
        yield _of_variant(function, arguments, value, metadata)


def damaged_calls() -> Iterator[Request]:
    """Yield requests that read the damaged values, each with the first function that reads its kind."""
    found = wholes()
    for name, content in found.items():
        for function, arguments in _readers(name)[:1]:
            yield from (_request(_call(function, arguments, _literal(each))) for each in damaged(content))
    value, metadata = found["variant value"], found["variant metadata"]
    yield from (_of_variant("to_json", (_SAME,), each, metadata) for each in damaged(value))
    yield from (_of_variant("to_json", (_SAME,), value, each) for each in damaged(metadata))


def _readers(name: str) -> Sequence[tuple[str, Sequence[object]]]:
    return next((found for kind, found in _READERS.items() if name.startswith(kind)), ())


def _call(function: str, arguments: Sequence[object], content: Any) -> Any:
    """Return the expression that calls a function, with an expression of the bytes in place of the placeholder."""
    made = [content if each is _SAME else _items(content) if each is _ITEMS else _literal(each) for each in arguments]
    return {"unresolved_function": {"function_name": function, "arguments": made}}


def _items(content: Any) -> Any:
    more = ("maxItemsTracked", 100, "itemDataType", 1, "itemDataTypeDDL", "item INT NOT NULL")
    made = [_literal("sketch"), content, *map(_literal, more)]
    return {"unresolved_function": {"function_name": "named_struct", "arguments": made}}


def _literal(value: object) -> Any:
    kinds = {bool: "boolean", int: "integer", float: "double", str: "string", bytes: "binary"}
    return {"literal": {kinds[type(value)]: value}}


def _request(expression: Any, relation: Any = None) -> Request:
    source = relation or {"range": {"end": 1, "step": 1}}
    plan: Any = {"root": {"project": {"input": source, "expressions": [expression]}}}
    return Request(EXECUTE_PLAN, base.ExecutePlanRequest(plan=plan))


def _of_variant(function: str, arguments: Sequence[object], value: bytes, metadata: bytes) -> Request:
    """Return a call that reads a variant of a local relation, as a client sends it: variants have no literal."""
    column: Any = {"unresolved_attribute": {"unparsed_identifier": "v"}}
    relation = {"local_relation": {"data": variant_rows(value, metadata), "schema": "v VARIANT"}}
    return _request(_call(function, arguments, column), relation)


def variant_rows(value: bytes, metadata: bytes) -> bytes:
    """Return the Arrow stream of one variant in the column `v`."""
    parts = [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={"variant": "true"}),
    ]
    column = pa.array([{"value": value, "metadata": metadata}], pa.struct(parts))
    batch = pa.record_batch([column], schema=pa.schema([pa.field("v", column.type)]))
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, batch.schema) as writer:
        writer.write_batch(batch)
    return stream.getvalue()
