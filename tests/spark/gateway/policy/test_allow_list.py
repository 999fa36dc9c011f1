"""Every message and field of Spark Connect is allowed, or refused with a reason; a new one fails the test."""

import importlib.metadata

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from headgate.spark.gateway.policy.allow_list import ALLOWED
from headgate.spark.gateway.policy.deny_reasons import REFUSED, reason
from headgate.spark.gateway.policy.rules import RULES
from headgate.spark.gateway.policy.text_lengths import find_bounds
from headgate.spark.gateway.rpcs import RPCS, SERVICE
from tests.spark.gateway.admission_cases import base, short


def reachable() -> dict[str, Descriptor]:
    found: dict[str, Descriptor] = {}
    waiting: list[Descriptor] = [rpc.request.DESCRIPTOR for rpc in RPCS.values()]
    while waiting:
        message = waiting.pop()
        if message.full_name not in found:
            found[message.full_name] = message
            waiting.extend(field.message_type for field in message.fields if field.message_type is not None)
    return {short(name): message for name, message in found.items() if not message.GetOptions().map_entry}


class TestTheLists:
    def test_the_lists_were_reviewed_for_the_installed_pyspark(self) -> None:
        assert importlib.metadata.version("pyspark") == "4.1.4"

    def test_every_call_of_spark_connect_is_in_the_table(self) -> None:
        service = base.DESCRIPTOR.services_by_name["SparkConnectService"]

        assert set(RPCS) == {SERVICE + method.name for method in service.methods}
        for method in service.methods:
            assert RPCS[SERVICE + method.name].request.DESCRIPTOR is method.input_type

    def test_every_message_is_allowed_or_refused_with_a_reason(self) -> None:
        for name in reachable():
            assert (name in ALLOWED) != (reason(name) is not None), name

    def test_every_field_of_an_allowed_message_is_allowed_or_refused_with_a_reason(self) -> None:
        for name, message in reachable().items():
            for field in message.fields if name in ALLOWED else ():
                inner = "" if field.message_type is None else short(field.message_type.full_name)
                refused = reason(f"{name}.{field.name}") or reason(inner)
                assert (field.name in ALLOWED[name]) != (refused is not None), f"{name}.{field.name}"

    def test_the_lists_name_only_messages_and_fields_that_exist(self) -> None:
        messages = reachable()

        assert set(ALLOWED) <= set(messages)
        assert set(RULES) <= set(ALLOWED)
        for name in REFUSED:
            owner, _, field = name.rpartition(".")
            assert name in messages or field in messages[owner].fields_by_name

    def test_no_allowed_field_is_a_protobuf_any(self) -> None:
        for name, fields in ALLOWED.items():
            for field in fields:
                inner = reachable()[name].fields_by_name[field].message_type
                assert inner is None or inner.full_name != "google.protobuf.Any"


def test_every_text_outside_of_a_plan_has_a_maximum_length() -> None:
    inside = {"Plan", "Relation", "StorageLevel"}
    waiting, outside = [rpc.request.DESCRIPTOR for rpc in RPCS.values()], list[FieldDescriptor]()
    while waiting:
        message = waiting.pop()
        name = short(message.full_name)
        fields = [field for field in message.fields if name not in inside and field.name in ALLOWED[name]]
        outside += fields
        waiting += [field.message_type for field in fields if field.message_type is not None]

    texts = [field for field in outside if field.type == field.TYPE_STRING]

    assert len(texts) > 50
    assert not [field.full_name for field in texts if find_bounds(field)[0] is None]
    assert not [field.full_name for field in texts if field.is_repeated and find_bounds(field)[1] is None]


BYTES = {
    "AddArtifactsRequest.ArtifactChunk.data": "collected, then rewritten as Arrow or checked as a schema",
    "Expression.Literal.binary": "a value",
    "LocalRelation.data": "rewritten as Arrow",
}
"""Every bytes field of an allowed message, and the check or change that it gets before the driver receives it."""


def test_every_allowed_bytes_field_is_listed() -> None:
    found = {
        f"{name}.{field.name}"
        for name, message in reachable().items()
        for field in message.fields
        if field.type == field.TYPE_BYTES and field.name in ALLOWED.get(name, ())
    }

    assert found == set(BYTES)
