"""An answer quotes at most 200 characters of each text in a request."""

import time

import pytest
from pydantic import BaseModel, ValidationError, field_validator

from headgate.control.text.quoted_text import LONGEST, LONGEST_MESSAGE, shorten_quotes
from headgate.control.text.validation_faults import first_fault


@pytest.mark.parametrize("mark", ["`", "'", '"'])
def test_a_long_text_in_quotation_marks_is_cut_and_what_follows_it_stays(mark: str) -> None:
    quoted = mark + "x" * 5000 + mark

    assert shorten_quotes(f"{quoted} cannot be used") == f"{mark}{'x' * LONGEST}…{mark} cannot be used"


@pytest.mark.parametrize(
    "message",
    [
        "",
        f"`{'x' * LONGEST}` stays",
        f"the table's {'long ' * 60}answer is the client's",
        f"`a` {'and ' * 100} `b`",
        "an open ` quotation",
    ],
)
def test_a_message_that_quotes_no_long_text_stays_as_it_is(message: str) -> None:
    assert shorten_quotes(message) == message


def test_a_text_without_quotation_marks_is_cut_too() -> None:
    assert shorten_quotes("x" * 5_000_000) == "x" * LONGEST_MESSAGE + "…"


@pytest.mark.parametrize("text", ["`" * 1_000_000, "'\"`" * 500_000, " '" * 500_000, "`" + "'" * 1_000_000])
def test_shortening_quotes_takes_time_in_proportion_to_the_text(text: str) -> None:
    started = time.process_time()

    shorten_quotes(text)

    assert time.process_time() - started < 2


def test_a_fault_of_a_form_does_not_repeat_a_long_value() -> None:
    class Form(BaseModel):
        type: str

        @field_validator("type")
        @classmethod
        def _refuse(cls, value: str) -> str:
            raise ValueError(f"Unsupported field type: '{value}'")

    with pytest.raises(ValidationError) as raised:
        Form(type="y" * 3_900_000)

    assert first_fault(raised.value.errors(), None).sentence == f"Unsupported field type: '{'y' * LONGEST}…'"
