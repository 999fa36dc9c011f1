"""Changes survive the way into the log and back; what does not fit is refused."""

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.control.ports import StoreError
from headgate.facts import changes as c
from headgate.store import chain, codec
from tests.store.samples import SAMPLES


def test_a_sample_of_every_change_type_exists() -> None:
    assert {type(sample) for sample in SAMPLES} == set(get_args(c.Change))


def test_no_field_has_the_name_of_the_tag() -> None:
    assert all(codec.TAG not in kind.__dataclass_fields__ for kind in get_args(c.Change))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: type(sample).__name__)
def test_a_change_comes_back_equal(sample: c.Change) -> None:
    assert codec.decode(codec.encode(sample)) == sample


@given(st.sampled_from(get_args(c.Change)).flatmap(st.from_type))
def test_any_change_comes_back_equal(change: c.Change) -> None:
    assert codec.decode(codec.encode(change)) == change or "nan" in repr(change)


def test_a_field_with_a_default_may_be_missing_in_an_older_entry() -> None:
    assert codec.decode({"change": "GroupCreated", "group": "g"}) == c.GroupCreated(c.GroupId("g"))


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"change": "Unheard"},
        {"change": ["PrincipalRemoved"]},
        {"change": "PrincipalRemoved"},
        {"change": "PrincipalRemoved", "principal": 7},
        {"change": "PrincipalRemoved", "principal": "u", "more": 1},
        {"change": "GroupCreated", "group": "g", "built_in": 1},
        {"change": "TokenIssued", "token": "t", "principal": "u", "ends": "soon"},
        {"change": "RelationsSet", "resource": "r", "relations": {"outputs": [{"enabled": True}]}},
        {"change": "RelationsSet", "resource": "r", "relations": []},
    ],
)
def test_what_is_no_change_is_refused(value: Any) -> None:
    with pytest.raises(StoreError):
        codec.decode(value)


def test_the_canonical_text_does_not_depend_on_the_order_of_keys() -> None:
    assert chain.canonical({"b": 1, "a": "é"}) == chain.canonical({"a": "é", "b": 1}) == '{"a":"é","b":1}'
