"""A request has a limited number of parts, even if they take few bytes on the wire, so that its check is fast."""

import re
from pathlib import Path

import pytest
from google.protobuf.message import DecodeError

import headgate
from headgate.spark.gateway import wire_format
from headgate.spark.gateway.admission import build_inspector
from headgate.spark.gateway.errors import GatewayError, InvalidRequestError, RequestRefusedError, TooComplexError
from headgate.spark.gateway.wire_format import MAX_PARTS, parse_message
from tests.spark.gateway.admission_cases import ANN, a_range, admit_as, relations
from tests.spark.gateway.shapes import (
    OTHER_CALLS,
    SHAPES,
    TRUE,
    WAYS,
    Sent,
    branching,
    compressed,
    field,
    nested_argument,
    plain,
    projected,
    projection,
)

FEWER, MORE = MAX_PARTS - 5_000, 2 * MAX_PARTS + 10_000
"""A number of parts that passes, and one that is refused.

A full tree of joins has twice the parts of the next smaller tree.
"""


FEW = ("literals", "arguments of SQL", "relations", "characters of a type", "branches")
"""The shapes for which `make test` builds a request that passes; the soak run does it for all."""


def refusal(sent: Sent) -> GatewayError | None:
    """Return why the gateway refuses a request, or None."""
    try:
        admit_as(ANN, *sent)
    except GatewayError as error:
        return error
    return None


class TestRequests:
    @pytest.mark.parametrize(
        "shape", [shape if shape in FEW else pytest.param(shape, marks=pytest.mark.soak) for shape in SHAPES]
    )
    def test_a_request_with_fewer_parts_than_the_bound_is_not_refused_for_them(self, shape: str) -> None:
        assert not isinstance(refusal(SHAPES[shape](FEWER)), TooComplexError)

    @pytest.mark.parametrize("shape", SHAPES)
    def test_a_request_with_more_parts_than_the_bound_is_refused(self, shape: str) -> None:
        error = refusal(SHAPES[shape](MORE))

        assert isinstance(error, TooComplexError)
        assert error.sqlstate == "54001"
        assert "more than 250,000 expressions" in error.message

    @pytest.mark.parametrize("way", WAYS)
    def test_the_bound_on_parts_holds_for_every_way_to_send_a_query(self, way: str) -> None:
        assert refusal(WAYS[way](projected(TRUE, FEWER))) is None
        assert isinstance(refusal(WAYS[way](projected(TRUE, MORE))), TooComplexError)

    @pytest.mark.parametrize("call", OTHER_CALLS)
    def test_other_calls_with_many_values_are_refused(self, call: str) -> None:
        assert isinstance(refusal(OTHER_CALLS[call](MORE)), RequestRefusedError)

    def test_the_gateway_and_the_guard_allow_the_same_number_of_expressions(self) -> None:
        source = Path(headgate.__file__).parent / "spark" / "guard" / "scala" / "limits" / "PlanLimits.scala"
        (found,) = re.findall(r"MaxExpressions = (\d+)", source.read_text("utf-8"))

        assert int(found) == MAX_PARTS

    def test_large_ordinary_plans_pass(self) -> None:
        numbers = [{"literal": {"long": at}} for at in range(200_000)]
        among = {"unresolved_function": {"function_name": "in", "arguments": numbers}}
        columns = projected({"unresolved_attribute": {"unparsed_identifier": "c"}}, 8000)

        for root in (projected(among), columns, branching(8000)):
            assert refusal(compressed(root)) is None


@pytest.mark.parametrize("levels", [600, 20_000])
def test_deep_arguments_of_sql_are_refused(levels: int) -> None:
    with build_inspector() as thread:
        error = thread.submit(refusal, plain(nested_argument(levels))).result()

    assert isinstance(error, TooComplexError)
    assert "levels deep" in error.message


class TestLargeMessages:
    """The gateway counts the parts of a message of several MiB on the wire; parsing would need too much memory."""

    @pytest.mark.parametrize("way", WAYS)
    def test_millions_of_tiny_messages_are_refused_before_they_are_parsed(
        self, way: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sent = WAYS[way](projection(field(3, b"") * 8_000_000))
        monkeypatch.setattr(relations.Relation, "FromString", None, raising=False)

        assert isinstance(refusal(sent), TooComplexError)

    @pytest.mark.parametrize("kind", ["longs", "bools", "doubles"])
    def test_millions_of_packed_numbers_are_refused_before_they_are_parsed(self, kind: str) -> None:
        value = {"literal": {"specialized_array": {kind: {"values": [0] * 8_500_000}}}}

        assert isinstance(refusal(plain(projected(value))), TooComplexError)

    def test_the_rows_of_a_local_relation_count_as_one_value(self) -> None:
        rows = relations.Relation(local_relation={"data": bytes(32 * 1024 * 1024)})

        assert refusal(plain(rows.SerializeToString())) is None

    def test_many_unknown_fields_are_refused_before_they_are_listed(self) -> None:
        unknown = field(1000, b"") * 1_000_000

        assert "many fields" in str(refusal(plain(a_range().SerializeToString() + unknown)))

    @pytest.mark.parametrize("shape", SHAPES)
    def test_the_count_on_the_wire_accepts_every_message_that_the_parser_accepts(
        self, shape: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rpc, data = SHAPES[shape](300)
        plan = parse_message(rpc.request, data)
        monkeypatch.setattr(wire_format, "_SCANNED_BYTES", 0)

        assert parse_message(rpc.request, data) == plan

    @pytest.mark.parametrize("wrong", [b"\x0b", b"\x0a\xff\xff\xff\xff\x0f", b"\x0a" + b"\xff" * 12, b"\xff"])
    def test_unreadable_bytes_after_a_message_are_an_invalid_request(
        self, wrong: bytes, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(wire_format, "_SCANNED_BYTES", 0)
        rpc, data = plain(a_range().SerializeToString())

        with pytest.raises(InvalidRequestError):
            admit_as(ANN, rpc, data + wrong)

    def test_a_truncated_message_cannot_be_decoded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(wire_format, "_SCANNED_BYTES", 0)
        data = projected(TRUE, 3)

        for end in range(1, len(data)):
            with pytest.raises(DecodeError):
                parse_message(relations.Relation, data[:end])
