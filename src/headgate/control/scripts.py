"""Letters that readers can tell apart: what a new name may be spelled with, judged by the name alone.

The rules follow Unicode's security mechanisms (UTS #39): normal form NFKC, one script, recommended scripts only, and no
word of another script that reads as a Latin one. A name is never compared with others: a refusal would reveal them.
"""

import unicodedata
from collections.abc import Iterator
from typing import Final

_JAPANESE: Final = frozenset({"CJK", "HIRAGANA", "KATAKANA"})
_SETS: Final = (_JAPANESE, frozenset({"CJK", "HANGUL"}), frozenset({"CJK", "BOPOMOFO"}))
"""Scripts that are written together. Any other script stands alone."""
_RECOMMENDED: Final = frozenset(
    [
        "ARABIC",
        "ARMENIAN",
        "BENGALI",
        "BOPOMOFO",
        "CJK",
        "CYRILLIC",
        "DEVANAGARI",
        "ETHIOPIC",
        "GEORGIAN",
        "GREEK",
        "GUJARATI",
        "GURMUKHI",
        "HANGUL",
        "HEBREW",
        "HIRAGANA",
        "KANNADA",
        "KATAKANA",
        "KHMER",
        "LAO",
        "LATIN",
        "MALAYALAM",
        "MYANMAR",
        "ORIYA",
        "SINHALA",
        "TAMIL",
        "TELUGU",
        "THAANA",
        "THAI",
        "TIBETAN",
    ]
)
"""The first word in the names of a script's letters, for each recommended script (UAX #31, table 5)."""
_TECHNICAL: Final = (
    (0x0180, 0x0217),
    (0x021C, 0x02AF),
    (0x1D00, 0x1DBF),
    (0x2C60, 0x2C7F),
    (0xA720, 0xA7FF),
    (0xAB30, 0xAB6F),
)
"""Latin letters of phonetics and of former alphabets: many look as ASCII letters do."""
_MODERN: Final = frozenset("ƏƠơƯưǍǎǏǐǑǒǓǔǦǧǨǩǪǫəɓɗɛɔƁƊƐƆƘƙƴƳŊŋ")
"""Letters of living languages among them."""
_LONG_MARK: Final = "\u30fc"
"""The long vowel of Japanese: a modifier by its category."""
_READ_AS_LATIN: Final = frozenset("аеорсухѕіјһӏԁԛԝԍьѵгпАВЕЅІЈКМНОРСТУХЗԌԚԜӀҮүαενοικρτυχγΑΒΕΖΗΙΚΜΝΟΡΤΥΧϲϳօսոցհյզք")
"""Letters of Cyrillic, Greek and Armenian that look as ASCII letters do in usual fonts."""


def describe_letter_fault(text: str) -> str | None:
    """Return what is wrong with the letters of a text and what to write instead; None if nothing is."""
    if unicodedata.normalize("NFKC", text) != text:
        return "it has characters that stand for others; write it in the Unicode form NFKC"
    letters = [each for each in text if each.isalpha()]
    odd = next((each for each in letters if not _is_modern(each)), None)
    if odd is not None:
        return f"U+{ord(odd):04X} is not a letter of a script in common use; replace the letter"
    scripts = frozenset(_scripts(letters))
    if len(scripts) > 1 and not any(scripts <= each for each in _SETS):
        return f"it mixes letters of {' and '.join(sorted(map(str.title, scripts)))}; use letters of one script"
    if letters and _READ_AS_LATIN.issuperset(letters):
        return "every letter of it looks like a Latin one; use Latin letters"
    return None


def _scripts(letters: list[str]) -> Iterator[str]:
    for each in letters:
        if each != _LONG_MARK:
            yield _script(each)


def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]


def _is_modern(letter: str) -> bool:
    if letter == _LONG_MARK or letter in _MODERN:
        return True
    if unicodedata.category(letter) == "Lm" or any(first <= ord(letter) <= last for first, last in _TECHNICAL):
        return False
    return _script(letter) in _RECOMMENDED
