"""An idempotency key belongs to one request of one caller; a repeat of that request gets the stored answer."""

import pytest

from headgate.control.kernel.idempotency import STORED_ANSWER, IdempotencyKey, ReusedKeyError
from tests.fakes.store import FakeStore

ONE = IdempotencyKey.digest(("ann", "key"), ("POST", "/users", '{"name": "vic"}'))
OTHER = IdempotencyKey.digest(("ann", "key"), ("POST", "/users", '{"name": "sam"}'))


def test_a_new_key_has_no_stored_answer() -> None:
    assert ONE.stored_answer(FakeStore()) is None


def test_a_repeated_request_gets_the_stored_answer() -> None:
    store = FakeStore()
    store.put_document(ONE.answer_document({"revision": 3}))

    assert ONE.stored_answer(store) == {"revision": 3}


def test_a_key_that_was_used_for_another_request_is_refused() -> None:
    store = FakeStore()
    store.put_document(ONE.answer_document({"revision": 3}))

    with pytest.raises(ReusedKeyError, match="use a new key"):
        OTHER.stored_answer(store)


def test_a_key_of_another_caller_is_another_key() -> None:
    request = ("POST", "/users", "{}")

    assert IdempotencyKey.digest(("ann", "key"), request).key != IdempotencyKey.digest(("vic", "key"), request).key


def test_parts_that_are_joined_differently_are_another_request() -> None:
    assert IdempotencyKey.digest(("a",), ("ab", "c")) != IdempotencyKey.digest(("a",), ("a", "bc"))


def test_the_digests_stay_as_earlier_versions_stored_them() -> None:
    """A key that was used before an upgrade still counts after it."""
    assert ONE.answer_document({}).kind == STORED_ANSWER == "answer"
    assert ONE.key == "38da5638f08fa92144db707d6237c24841749061f89623da39c75bec7a1c4da1"
