"""Mutants depend only on their number, differ from their origin, and can be shrunk."""

import random
from typing import Any

from headgate.spark.gateway.protos import base
from headgate.spark.gateway.rpcs import EXECUTE_PLAN
from tests.connect_fuzzer.dictionary import texts, values
from tests.connect_fuzzer.fuzzer import shrink
from tests.connect_fuzzer.messages import Request, corpus
from tests.connect_fuzzer.mutation import Mutation, change_bytes, shrink_candidates


def request(text: str = "SELECT 1") -> Request:
    relation: Any = {"root": {"limit": {"input": {"filter": {"input": {"sql": {"query": text}}}}, "limit": 3}}}
    return Request(EXECUTE_PLAN, base.ExecutePlanRequest(plan=relation))


def mutation(seed: int = 1) -> Mutation:
    return Mutation(corpus([request()]), texts([], 1, []), values(), ["1"], seed)


def test_a_mutant_depends_on_its_number_and_seed_only() -> None:
    one, other = mutation(), mutation()

    assert [one.mutant(n) for n in range(50)] == [other.mutant(n) for n in reversed(range(50))][::-1]


def test_mutants_differ_by_number_and_seed() -> None:
    one, other = mutation(1), mutation(2)
    of_one, of_other = {one.mutant(n).data for n in range(300)}, {other.mutant(n).data for n in range(300)}

    assert len(of_one) > 250
    assert len(of_one & of_other) < 60


def test_most_mutants_are_still_messages_and_some_are_not() -> None:
    made = mutation()
    parsed = [made.mutant(n).parsed() is not None for n in range(300)]

    assert 200 < sum(parsed) < 300


def test_changed_bytes_differ_and_stay_short() -> None:
    chance = random.Random(1)  # noqa: S311 (random numbers of a test)

    assert all(len(change_bytes(b"x" * 100, chance)) < 600 for _ in range(300))
    assert sum(change_bytes(b"abcdefgh", chance) == b"abcdefgh" for _ in range(300)) < 30


def test_every_shrink_candidate_is_smaller_than_its_message() -> None:
    found = shrink_candidates(request().message)

    assert found
    assert all(each.ByteSize() < request().message.ByteSize() for each in found)


def test_a_finding_is_shrunk_to_the_smallest_message_that_still_fails() -> None:
    message = request("SELECT bad").message

    least = shrink(message, lambda each: b"bad" in each.SerializeToString())

    expected: Any = {"root": {"sql": {"query": "SELECT bad"}}}
    assert least == base.ExecutePlanRequest(plan=expected)
