"""Records the bytes of `binaries` with a Spark of its own: `python -m tests.connect_fuzzer.binary_recorder`.

It needs no Headgate server, because the bytes do not depend on the server. It fails if Spark cannot read the bytes that
it has created.
"""

import json
import os
import sys
import tempfile
from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql import SparkSession

from headgate.spark.gateway.protos import base
from headgate.spark.toolchain.java import find_java
from tests.connect_fuzzer import binaries

_VARIANT: Final = 'SELECT parse_json(\'{"a": [1, 2.5, "x", null], "b": {"c": true}}\')'
QUERIES: Final = {
    "hll list": "SELECT hll_sketch_agg(id, 8) FROM range(3)",
    "hll set": "SELECT hll_sketch_agg(id, 8) FROM range(12)",
    "hll registers": "SELECT hll_sketch_agg(id, 5) FROM range(500)",
    "theta empty": "SELECT theta_sketch_agg(id) FROM range(0)",
    "theta of one": "SELECT theta_sketch_agg(id) FROM range(1)",
    "theta of few": "SELECT theta_sketch_agg(id) FROM range(5)",
    "theta in estimation": "SELECT theta_sketch_agg(id, 4) FROM range(500)",
    "kll bigint of one": "SELECT kll_sketch_agg_bigint(id, 8) FROM range(1)",
    **{
        f"kll {kind}": f"SELECT kll_sketch_agg_{kind}(CAST(id AS {kind}), 8) FROM range(200)"
        for kind in ("bigint", "double", "float")
    },
    "items": "SELECT approx_top_k_accumulate(CAST(id % 5 AS INT), 100).sketch FROM range(50)",
    "bitmap cut": "SELECT substring(bitmap_construct_agg(bitmap_bit_position(id * 7)), 1, 32) FROM range(30)",
    "count-min": "SELECT count_min_sketch(id, 0.5D, 0.5D, 1) FROM range(9)",
    "variant value": _VARIANT,
    "variant metadata": _VARIANT,
}
_BLOOM: Final = "bloom_filter_agg(id, 9L, 64L) FROM range(9), which only a client's plan may call"


def main() -> None:
    """Create all values, write them to the file, and read them."""
    os.environ.setdefault("JAVA_HOME", str(find_java(os.environ, print).path.parent.parent))
    with tempfile.TemporaryDirectory() as folder:
        builder = SparkSession.builder.remote("local[1]").config("spark.sql.warehouse.dir", folder)
        spark: Any = builder.getOrCreate()
        spark.conf.set("spark.sql.geospatial.enabled", "true")
        lines = [_line(name, query, _made(spark, name, query)) for name, query in QUERIES.items()]
        lines.append(_line("bloom", _BLOOM, _bloom(spark)))
        binaries.RECORDED.write_text("".join(lines), encoding="utf-8")
        failed = [fault for each in binaries.calls() if (fault := _fault(spark, each.message))]
        spark.stop()
    sys.stdout.write("".join(f"{each}\n" for each in failed))
    sys.exit(bool(failed))


def _made(spark: Any, name: str, query: str) -> bytes:
    made = spark.sql(query).collect()[0][0]
    return bytes(getattr(made, name.removeprefix("variant ")) if name.startswith("variant") else made)


def _bloom(spark: Any) -> bytes:
    arguments = [{"unresolved_attribute": {"unparsed_identifier": "id"}}]
    arguments += [{"literal": {"long": 9}}, {"literal": {"long": 64}}]
    call = {"function_name": "bloom_filter_agg", "arguments": arguments, "is_internal": True}
    source = {"range": {"end": 9, "step": 1}}
    plan: Any = {"root": {"project": {"input": source, "expressions": [{"unresolved_function": call}]}}}
    table, *_ = spark._client.to_table(base.Plan(**plan), {})
    return bytes(table.column(0)[0].as_py())


def _line(name: str, made: str, content: bytes) -> str:
    said: Mapping[str, str] = {"name": name, "made": made, "hex": content.hex()}
    return json.dumps(said) + "\n"


def _fault(spark: Any, request: Any) -> str:
    """Return Spark's error for a call, or an empty text."""
    try:
        spark._client.to_table(request.plan, {})
    except Exception as error:  # noqa: BLE001 (the caller prints each error)
        function = request.plan.root.project.expressions[0].unresolved_function.function_name
        return f"{function}: {str(error).splitlines()[0]}"
    return ""


if __name__ == "__main__":
    main()
