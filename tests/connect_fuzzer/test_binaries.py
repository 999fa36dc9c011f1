"""The bytes that Spark parses are among the bytes of mutants, and every function that reads them among their calls."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf.message import Message
from pyspark.sql.connect import functions as F  # noqa: N812 (the usual name)

import headgate.spark
from headgate.spark.gateway.rpcs import EXECUTE_PLAN
from tests.connect_fuzzer import binaries
from tests.connect_fuzzer.dictionary import requests, texts, values
from tests.connect_fuzzer.messages import Request, name_of, walk
from tests.connect_fuzzer.mutation import Mutation

LISTED = Path(headgate.spark.__file__).parent / "guard/resources/headgate/function-arguments.txt"
OF_BITMAPS = {("bitmap_count", 0), ("bitmap_or_agg", 0), ("bitmap_and_agg", 0)}
OF_SHAPES = {("st_geogfromwkb", 0), ("st_geomfromwkb", 0)}
OF_VARIANTS = {"variant_get", "try_variant_get", "schema_of_variant", "schema_of_variant_agg", "is_variant_null"}


def called(found: Iterable[Request]) -> Iterator[Any]:
    """Yield the function calls in requests."""
    for request in found:
        yield from (
            each for each in walk(request.message) if name_of(each.DESCRIPTOR) == "Expression.UnresolvedFunction"
        )


def bytes_in(message: Message) -> Iterator[bytes]:
    """Yield the binary literals inside a message."""
    for each in walk(message):
        if name_of(each.DESCRIPTOR) == "Expression.Literal" and each.WhichOneof("literal_type") == "binary":  # pyright: ignore[reportArgumentType]
            yield each.binary  # pyright: ignore[reportAttributeAccessIssue]


def rows_in(request: Request) -> list[Any]:
    """Return the variants in the local relation of a request."""
    message: Any = request.message
    relation = message.plan.root.project.input
    if not relation.HasField("local_relation"):
        return []
    return [each["v"] for each in pa.ipc.open_stream(relation.local_relation.data).read_all().to_pylist()]


def test_every_function_that_reads_a_sketch_a_bitmap_or_a_shape_is_called_with_one() -> None:
    rows = [each.split() for each in LISTED.read_text(encoding="utf-8").splitlines() if not each.startswith("#")]
    of_sketches = {(row[0], int(row[1])) for row in rows if len(row) > 2 and row[2].startswith("sketch:")}
    read = {
        (each.function_name, place)
        for each in called(binaries.calls())
        for place, argument in enumerate(each.arguments)
        if any(bytes_in(argument))
    }

    assert len(of_sketches) > 30
    assert read - {("named_struct", 1)} == of_sketches | OF_BITMAPS | OF_SHAPES


def test_every_function_that_reads_a_variant_is_called_with_one() -> None:
    of_variants = [each for each in binaries.calls() if rows_in(each)]

    assert {each.function_name for each in called(of_variants)} == OF_VARIANTS | {"to_json"}


def test_a_call_is_the_one_that_the_client_of_spark_sends() -> None:
    client: Any = None
    sketch = binaries.wholes()["hll list"]
    column: Any = F.hll_sketch_estimate(F.lit(sketch))
    sent = column._expr.to_plan(client)
    for each in walk(sent):
        if "common" in each.DESCRIPTOR.fields_by_name:
            each.ClearField("common")

    assert sent.unresolved_function in list(called(binaries.calls()))


def test_every_value_is_among_the_bytes_of_mutants_whole_and_damaged() -> None:
    wholes = binaries.wholes()

    assert set(wholes.values()) <= set(values())
    for name, content in wholes.items():
        damaged = set(binaries.damaged(content))
        assert content not in damaged, name
        assert damaged & set(values()), name


def test_every_kind_of_binary_is_sent_to_functions_whole_and_damaged() -> None:
    literals = {literal for each in called(requests()) for literal in bytes_in(each)}
    for name, content in binaries.wholes().items():
        if name.startswith(("variant", "bloom", "count-min")):
            continue
        assert {content, *binaries.damaged(content)} <= literals, name


@pytest.mark.parametrize("part", ["value", "metadata"])
def test_a_variant_is_sent_as_rows_of_the_client_whole_and_damaged(part: str) -> None:
    whole = {each: binaries.wholes()[f"variant {each}"] for each in ("value", "metadata")}
    rows = [row for each in (*binaries.calls(), *binaries.damaged_calls()) for row in rows_in(each)]

    assert whole in rows
    assert {whole[part], *binaries.damaged(whole[part])} <= {each[part] for each in rows}


def test_mutants_make_many_functions_read_new_bytes() -> None:
    known = {*values(), *(each for call in called(requests()) for each in bytes_in(call))}
    mutation = Mutation(requests(), texts([], 1, []), values(), ["1"], seed=1)
    found = [mutation.mutant(number) for number in range(2000)]
    parsed = [message for each in found if each.rpc is EXECUTE_PLAN and (message := each.parsed()) is not None]
    new = {
        (each.function_name, literal)
        for each in called(Request(EXECUTE_PLAN, message) for message in parsed)
        for literal in bytes_in(each)
        if literal not in known
    }

    assert len({function for function, _ in new}) > 10, new
