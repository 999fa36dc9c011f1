"""Faults of forms: the field in the caller's own names, and a sentence without a type of Python, Pydantic or Headgate."""

import re
from typing import Annotated, Any, Literal, get_args

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, TypeAdapter, ValidationError
from pydantic_core.core_schema import ErrorType

from headgate.control.text.validation_faults import MOST, SENTENCES, find_faults, first_fault

INTERNAL = re.compile(r"Input|Value error|Assertion|function-|dict|tuple|\[|_type|None|{|instance|validation")


def _short(text: str) -> str:
    if len(text) > 3:
        raise ValueError("use at most 3 letters")
    return text


Short = Annotated[str, AfterValidator(_short)]


class Form(BaseModel):
    model_config = ConfigDict(extra="forbid")

    either: dict[Short, Short | bool | None] | list[Short | int] = Field(default_factory=list[str | int])
    number: Annotated[float, Field(allow_inf_nan=False, ge=0)] = 0.0
    few: Annotated[list[int], Field(max_length=2)] = Field(default_factory=list[int])
    word: Annotated[Short, Field(min_length=1)] = "x"
    nested: dict[str, "Form"] = Field(default_factory=dict[str, "Form"])


class File(BaseModel):
    kind: Literal["file"]
    file: str
    into: str


class Query(BaseModel):
    kind: Literal["query"]
    sql: str


STEPS: TypeAdapter[Any] = TypeAdapter(list[Annotated[File | Query, Discriminator("kind")]])
FORM: TypeAdapter[Any] = TypeAdapter(Form)


def said(adapter: TypeAdapter[Any], form: object) -> list[tuple[str, str]]:
    """Return the faults of an invalid form, each with its place."""
    with pytest.raises(ValidationError) as raised:
        adapter.validate_python(form)
    return [(each.at, each.sentence) for each in find_faults(raised.value.errors(), form)]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({"other": 1}, [("other", "there is no such field; remove it")]),
        ({"number": "x"}, [("number", "the value must be a number")]),
        ({"number": float("nan")}, [("number", "the value must be a finite number")]),
        ({"number": -1}, [("number", "the value must be at least 0.0")]),
        ({"few": [1, 2, 3]}, [("few", "there are too many entries; at most 2 are allowed")]),
        ({"word": ""}, [("word", "the string is too short; at least 1 characters are needed")]),
        ({"few": [1, "x"]}, [("few.1", "the value must be an integer")]),
        ({"either": 7}, [("either", "the value must be an object with named fields, or a list")]),
        ({"either": {"a": [7]}}, [("either.a", "the value must be a string, or true or false")]),
        ({"either": {"a": "four"}}, [("either.a", "use at most 3 letters, or the value must be true or false")]),
        ({"either": {"four": "a"}}, [("either.four", "use at most 3 letters")]),
        ({"either": ["a", {}]}, [("either.1", "the value must be a string, or an integer")]),
        (
            {"nested": {"either": {"nested": 7}}},
            [("nested.either.nested", "the value must be an object with named fields")],
        ),
        (7, [("", "the value must be an object with named fields")]),
    ],
)
def test_a_fault_is_reported_at_the_place_that_the_caller_wrote(form: object, expected: list[tuple[str, str]]) -> None:
    assert said(FORM, form) == expected


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (
            [{"kind": "file", "file": 1}],
            [("0.file", "the value must be a string"), ("0.into", "the field is missing; add it")],
        ),
        ([{"kind": "query"}], [("0.sql", "the field is missing; add it")]),
        ([{"kind": "nix"}], [("0", "'kind' cannot be 'nix'; write one of 'file', 'query'")]),
        ([{}], [("0", "the field 'kind' is missing; add it")]),
    ],
)
def test_a_union_tag_is_not_part_of_the_place_of_a_fault(form: object, expected: list[tuple[str, str]]) -> None:
    assert said(STEPS, form) == expected


def test_a_fault_of_a_json_form_is_reported_at_the_same_place() -> None:
    with pytest.raises(ValidationError) as raised:
        FORM.validate_json(b'{"either": {"a": [7]}}')

    assert first_fault(raised.value.errors(), {"either": {"a": [7]}}).at == "either.a"


def test_unreadable_json_is_a_fault_of_the_whole_form() -> None:
    with pytest.raises(ValidationError) as raised:
        FORM.validate_json(b"{")

    fault = first_fault(raised.value.errors(), None)
    assert fault.at == ""
    assert fault.sentence.startswith("the JSON cannot be read: ")


@pytest.mark.parametrize("part", ["query", "path", "header", "cookie"])
def test_the_place_in_a_parameter_is_its_name_and_the_number_of_the_entry(part: str) -> None:
    error = {"type": "int_parsing", "loc": (part, "limit", "list[int]", 3, "function-after[_x(), int]"), "input": "x"}

    assert first_fault([error], None).at == f"{part}.limit.3"


def test_a_body_without_a_content_type_is_answered_with_the_one_to_send() -> None:
    error = {"type": "model_attributes_type", "loc": ("body",), "input": b"{}"}

    assert "Content-Type: application/json" in first_fault([error], b"{}").sentence


@pytest.mark.parametrize("kind", get_args(ErrorType))
def test_no_error_type_shows_types_of_the_implementation(kind: str) -> None:
    error = {"type": kind, "loc": ("body", "dict[str,int]", "a", "int"), "input": 1, "msg": "Input", "ctx": {}}

    found = first_fault([error], {"a": 1})

    assert found.at == "body" if kind == "json_invalid" else found.at.startswith("body.a")
    assert not INTERNAL.search(f"{found.at} {found.sentence}")


def test_every_sentence_belongs_to_an_existing_error_type() -> None:
    assert set(get_args(ErrorType)) >= SENTENCES.keys()


def test_a_form_with_many_faults_reports_the_first_ones() -> None:
    form = {f"field{number}": 0 for number in range(20_000)}

    assert [at for at, _ in said(FORM, form)] == [f"field{number}" for number in range(MOST)]


def test_a_form_that_is_nested_deeply_is_searched_in_a_short_time() -> None:
    form: dict[str, Any] = {}
    for _ in range(60):
        form = {"a": form, "b": form}

    error = {"type": "string_type", "loc": ("body", *("a", "b") * 60), "input": object()}

    assert first_fault([error], form).at.count("a") == 30
