"""The check of names finds unfit words, and accepts nouns."""

import pytest

from tools.check_names import departures, duplicates, fault_of_test, unfit_words


@pytest.mark.parametrize(
    "place",
    [
        "control/access/last_owner.py",
        "lake/staged_creates.py",
        "control/kernel/__init__.py",
        "tests/facts/test_fold.py",
    ],
)
def test_a_noun_names_a_module(place: str) -> None:
    assert list(unfit_words(place)) == []


@pytest.mark.parametrize(
    ("place", "word"),
    [
        ("app/knowing.py", "knowing"),
        ("spark/kept.py", "kept"),
        ("decision/engine_who.py", "who"),
        ("doors/api/nouns.py", "doors"),
        ("tests/gateway/test_cutting.py", "cutting"),
    ],
)
def test_another_form_does_not_name_a_module(place: str, word: str) -> None:
    assert list(unfit_words(place)) == [word]


def test_a_name_that_two_modules_define_and_others_import_is_a_duplicate() -> None:
    sources = {
        "p/a.py": "class Moment: ...\nLIMIT: int = 1\ndef ask(): ...\n",
        "p/b.py": "Moment = int\nLIMIT = 2\n",
        "p/c.py": "from p.a import Moment, LIMIT\nfrom p.b import Moment as Other\nfrom p import b\nb.LIMIT\ndef ask(): ...\n",
    }

    assert duplicates(sources) == {"LIMIT": ["p.a", "p.b"], "Moment": ["p.a", "p.b"]}


def test_a_departure_needs_an_exception_and_an_exception_a_departure_and_a_reason() -> None:
    assert departures("the name", {"a": "is wrong"}, {}) == ["the name `a` is wrong"]
    assert departures("the name", {}, {"a": "it is right"}) == ["the name `a`: the exception is not needed"]
    assert departures("the name", {"a": "is wrong"}, {"a": " "}) == ["the name `a`: the exception gives no reason"]
    assert departures("the name", {"a": "is wrong"}, {"a": "it is right"}) == []


@pytest.mark.parametrize(
    "name",
    ["test_a_revoked_token_is_refused", "test_every_route_needs_a_caller", "test_enabling_a_stream_requires_a_role"],
)
def test_a_sentence_with_a_subject_names_a_test(name: str) -> None:
    assert fault_of_test(name) is None


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("test_is_refused_at_once", "begins with `is`: begin with its subject"),
        ("test_of_a_deleted_user_ends", "begins with `of`: begin with its subject"),
        ("test_a_user_whose_token_ended_is_refused", "has `whose`: name the actor"),
        ("test_revoked_tokens", "is not a sentence: name a subject and what is true of it"),
    ],
)
def test_another_phrase_does_not_name_a_test(name: str, fault: str) -> None:
    assert fault_of_test(name) == fault
