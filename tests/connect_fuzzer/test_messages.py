"""The requests that are mutated have every field that a client can send."""

from typing import Any

from headgate.spark.gateway.policy.allow_list import ALLOWED
from headgate.spark.gateway.rpcs import RPCS
from tests.connect_fuzzer.dictionary import statements
from tests.connect_fuzzer.messages import ANY, RECORDED, Request, corpus, line, name_of, pairs, recorded


def fields() -> set[tuple[str, str]]:
    """Return every field of every message that a request can contain, without fields of the type `Any`."""
    found, seen = set[tuple[str, str]](), set[str]()
    waiting: list[Any] = [rpc.request.DESCRIPTOR for rpc in RPCS.values()]
    while waiting:
        message = waiting.pop()
        if message.full_name not in seen:
            seen.add(message.full_name)
            known = [each for each in message.fields if each.message_type is None or name_of(each.message_type) != ANY]
            found |= {(name_of(message), each.name) for each in known}
            waiting += [each.message_type for each in known if each.message_type is not None]
    return found


def covered(requests: list[Request]) -> set[tuple[str, str]]:
    return {pair for each in requests for pair in pairs(each.message)}


def test_the_recorded_requests_are_canonical_and_distinct() -> None:
    requests = recorded()

    assert [line(each) for each in requests] == RECORDED.read_text(encoding="utf-8").splitlines()
    assert len({line(each) for each in requests}) == len(requests)


def test_the_recording_of_a_stock_client_has_most_allowed_fields() -> None:
    allowed = {(name, field) for name, names in ALLOWED.items() for field in names}

    assert len(covered(recorded()) & allowed) >= 0.55 * len(allowed)


def test_the_corpus_has_every_field_of_every_request() -> None:
    entries = {(name, field) for name, field in fields() if not name.endswith("Entry")}

    assert entries == covered(corpus(recorded()))


def test_every_statement_of_the_corpora_is_mutated() -> None:
    assert len(list(statements())) > 500
