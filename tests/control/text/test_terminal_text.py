"""Text of other users, shown in a terminal or a log, neither moves the cursor nor reorders letters."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.control.text.terminal_text import terminal_json, terminal_line, terminal_text

BIDI = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


def obeyed(text: str) -> list[str]:
    """Return the characters that control a terminal."""
    return [
        each
        for each in text
        if unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp")
        or unicodedata.bidirectional(each) in BIDI
        or each in "\u061c\u200e\u200f"
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;pwned\x07\x1b[31mRED", r"\x1b]0;pwned\x07\x1b[31mRED"),
        ("\x1b]52;c;cm0gLXJm\x1b\\", "\\x1b]52;c;cm0gLXJm\\x1b\\"),
        ("\x9b31m\x7f\r", r"\x9b31m\x7f\x0d"),
        ("abc\u202etxt.exe\u2066", r"abc\u202etxt.exe\u2066"),
        ("one\n\ttwo, é, 日本", "one\n\ttwo, é, 日本"),
        ("\ud800", r"\ud800"),
    ],
)
def test_control_characters_are_written_out_and_other_text_stays(text: str, shown: str) -> None:
    assert terminal_text(text) == shown


@given(st.text())
def test_no_text_has_a_character_left_that_a_terminal_obeys(text: str) -> None:
    assert set(obeyed(terminal_text(text))) <= {"\n", "\t"}
    assert obeyed(terminal_line(text)) == []


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"]))
    )
)
def test_json_says_the_same_with_control_characters_written_out(value: dict[str, str]) -> None:
    shown = terminal_json(json.dumps(value, ensure_ascii=False, indent=2))

    assert json.loads(shown) == value
    assert set(obeyed(shown)) <= {"\n"}
