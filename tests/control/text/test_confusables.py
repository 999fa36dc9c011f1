"""New names consist of letters that readers can distinguish; each name is judged on its own."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.control.kernel.names import describe_new_name_fault, is_valid_name
from headgate.control.text.confusables import describe_letter_fault

GOOD = [
    "secret", "SECRET", "Orders_2026", "a-b", "_t", "9", "crème", "naïve", "Øre", "șase", "đường", "\u0131ss\u0131z", "Müller",
    "продажи", "секрет", "Київ", "πωλήσεις", "հաճախորդ", "売上データ", "データ", "매출", "漢字", "מכירות", "مبيعات", "ยอดขาย",
    "опера", "\u0433\u043e\u0440\u0430", "парус", "佐々木", "人々", "二〇二四", "〇〇株", "らーめん", "えーー", "みすゞ", "カメラ一覧", "二ノ宮", "हिन्दी", "กรุง", "ต่างๆ",
    "தமிழ்", "বাংলা", "മലയാളം", "မြန်မာ", "ខ្មែរ", "བོད", "ಕನ್ನಡ", "తెలుగు", "සිංහල", "ދިވެހި", "ગુજરાતી", "ਪੰਜਾਬੀ", "ଓଡ଼ିଆ",
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
    "a long vowel mark between Latin letters": "my\u30fctable",
    "a long vowel mark after an ideograph": "\u58f2\u30fc",
    "a long vowel mark alone": "2024\u30fc01",
    "an iteration mark without an ideograph": "a\u3005",
    "a zero of Han numerals between digits": "2\u300724",
    "an ideograph that reads as a hyphen between digits": "2024\u4e0001",
    "a kana that reads as a slash between digits": "1\u30ce2",
    "a filler of Hangul": "2024\u1160",
    "another filler of Hangul": "2024\u115f",
    "a part of a Hangul syllable": "2024\u117301",
    "a mark on a Latin letter": "t\u0323\u0301",
    "a Devanagari vowel on a Latin letter": "a\u093f",
    "a repeated mark": "\u0915\u093f\u093f",
    "a mark after a digit": "9\u093f",
    "a mark alone": "\u093f",
    "only Cyrillic letters that look as Latin ones, once more": "\u0440\u0430\u0443\u0440\u0430",
    "a Cyrillic letter that looks as a digit": "20\u04174",
    "only Myanmar letters that look as Latin ones": "\u101d\u101d",
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

    # The accepted ones are letters with a mark, which NFKC keeps as one character.
    assert all(len(unicodedata.normalize("NFKD", each)) > 1 for each in accepted)
    assert all(unicodedata.normalize("NFKC", each) == each for each in accepted)


INVISIBLE = [
    each
    for first, last in [
        (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F),
        (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0),
        (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
    ]
    for each in map(chr, range(first, last + 1))
]  # fmt: skip
"""The code points with the property `Default_Ignorable_Code_Point` in DerivedCoreProperties.txt of Unicode 17.0."""
FORMATS = [each for each in map(chr, range(0x110000)) if unicodedata.category(each) in ("Cc", "Cf", "Zl", "Zp")]


@pytest.mark.parametrize("beside", ["a", "\u0430", "\u0915", "\uac00", "\u1780", "2"])
def test_no_invisible_character_is_accepted_beside_any_letter(beside: str) -> None:
    accepted = [
        ascii(each) for each in INVISIBLE + FORMATS for name in (beside + each, each + beside)
        if describe_new_name_fault(name) is None or (describe_letter_fault(name) is None and each in INVISIBLE)
    ]  # fmt: skip

    assert not accepted


def test_a_mark_that_is_not_of_the_script_of_a_letter_is_refused_after_it() -> None:
    marks = [each for each in map(chr, range(0x110000)) if unicodedata.category(each) in ("Mn", "Mc", "Me")]

    assert not [
        ascii(mark) for mark in marks for letter in "a9_\u0437\u4e09" if describe_letter_fault(letter + mark) is None
    ]


@given(st.sampled_from(LETTERS), st.sampled_from("abcxyzABC"))
def test_no_letter_of_another_script_stands_beside_a_latin_one(letter: str, latin: str) -> None:
    if describe_new_name_fault(latin + letter) is None:
        assert letter.isascii() or unicodedata.name(letter).startswith("LATIN ")


@given(st.text(st.sampled_from(LETTERS), min_size=1, max_size=8))
def test_an_accepted_name_is_valid_and_in_normal_form(name: str) -> None:
    if describe_new_name_fault(name) is None:
        assert is_valid_name(name)
        assert unicodedata.normalize("NFKC", name) == name


def test_a_name_fault_says_how_to_correct_the_name() -> None:
    assert describe_letter_fault("s\u0435cret") == "it mixes letters of Cyrillic and Latin; use letters of one script"
    assert describe_letter_fault("lo\u0261") == "U+0261 is not a letter of a script in common use; replace the letter"
