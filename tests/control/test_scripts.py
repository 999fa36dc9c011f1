"""New names are spelled with letters that readers can tell apart; each is judged by itself."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.control.names import describe_new_name_fault, usable
from headgate.control.scripts import describe_letter_fault

GOOD = [
    "secret", "SECRET", "Orders_2026", "a-b", "_t", "9", "crème", "naïve", "Øre", "șase", "đường", "\u0131ss\u0131z", "Müller",
    "продажи", "секрет", "Київ", "πωλήσεις", "հաճախորդ", "売上データ", "データ", "매출", "漢字", "מכירות", "مبيعات", "ยอดขาย",
]  # fmt: skip
BAD = {
    "a Cyrillic letter among Latin ones": "s\u0435cret",
    "a Greek letter among Latin ones": "secr\u03b5t",
    "an Armenian letter among Latin ones": "sec\u057cet",
    "fullwidth letters": "\uff33\uff25\uff23\uff32\uff25\uff34",
    "mathematical letters": "\U0001d42c\U0001d41e\U0001d41c",
    "a ligature": "\ufb01le",
    "a decomposed letter": "cre\u0300me",
    "only Cyrillic letters that look as Latin ones": "\u0441\u043e\u0440\u0435",
    "only Greek letters that look as Latin ones": "\u039f\u039d\u0395",
    "a Latin letter of phonetics": "lo\u0261",
    "a click letter": "\u01c0og",
    "a small capital": "\ua731ecret",
    "a Cherokee letter": "\u13da\u13ac\u13df",
    "a Lisu letter": "\ua4e2\ua4f0",
    "a modifier letter": "o\u02bbzbek",
    "an Arabic digit": "t\u0661",
    "a fullwidth digit": "t\uff11",
    "a roman numeral": "t\u2167",
    "a superscript": "t\u00b2",
    "a zero width joiner": "se\u200dcret",
    "a bidirectional override": "\u202esecret",
    "a soft hyphen": "se\u00adcret",
    "a variation selector": "secret\ufe0f",
    "a space": "a b",
    "a dot": "a.b",
    "nothing": "",
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_a_name_of_one_script_is_accepted(name: str) -> None:
    assert describe_new_name_fault(name) is None


@pytest.mark.parametrize("kind", BAD)
def test_a_name_that_readers_would_mistake_is_refused(kind: str) -> None:
    assert describe_new_name_fault(BAD[kind])


LETTERS = [chr(each) for each in range(0x110000) if chr(each).isalnum()]


def test_no_letter_outside_ascii_that_stands_for_an_ascii_one_is_accepted() -> None:
    standing = [each for each in LETTERS if not each.isascii() and unicodedata.normalize("NFKD", each)[0].isascii()]
    accepted = [each for each in standing if describe_new_name_fault(each) is None]

    # What is left are letters with a mark, which NFKC keeps in one.
    assert all(len(unicodedata.normalize("NFKD", each)) > 1 for each in accepted)
    assert all(unicodedata.normalize("NFKC", each) == each for each in accepted)


@given(st.sampled_from(LETTERS), st.sampled_from("abcxyzABC"))
def test_no_letter_of_another_script_stands_beside_a_latin_one(letter: str, latin: str) -> None:
    if describe_new_name_fault(latin + letter) is None:
        assert letter.isascii() or unicodedata.name(letter).startswith("LATIN ")


@given(st.text(st.sampled_from(LETTERS), min_size=1, max_size=8))
def test_what_is_accepted_is_usable_and_stays_so_in_normal_form(name: str) -> None:
    if describe_new_name_fault(name) is None:
        assert usable(name)
        assert unicodedata.normalize("NFKC", name) == name


def test_a_fault_says_what_to_do() -> None:
    assert describe_letter_fault("s\u0435cret") == "it mixes letters of Cyrillic and Latin; use letters of one script"
    assert describe_letter_fault("lo\u0261") == "U+0261 is not a letter of a script in common use; replace the letter"
