"""Confusable letters (homoglyphs): the letters that a new name may contain, decided by the name alone.

The rules follow Unicode's security mechanisms (UTS #39): normal form NFKC, nothing invisible, one script, recommended
scripts only, marks on letters of their own script, and no word of another script that reads as a Latin one. A name is
never compared with others here: a refusal would reveal them.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Final, Literal

LONGEST: Final = 2048
"""In characters. Normalization takes quadratic time in the number of consecutive marks, in C code that blocks all threads."""
_HAN: Final = "CJK"
_JAPANESE: Final = frozenset({_HAN, "HIRAGANA", "KATAKANA"})
_SETS: Final = (_JAPANESE, frozenset({_HAN, "HANGUL"}), frozenset({_HAN, "BOPOMOFO"}))
"""Scripts that are written together. Any other script is not mixed with another one."""
_MARKED: Final = frozenset(
    [
        "BENGALI",
        "DEVANAGARI",
        "GUJARATI",
        "GURMUKHI",
        "KANNADA",
        "KHMER",
        "LAO",
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
"""Scripts that write vowels and tones as marks. In any other, a mark that NFKC does not compose is a decoration."""
_RECOMMENDED: Final = _MARKED.union(
    [
        "ARABIC",
        "ARMENIAN",
        "BOPOMOFO",
        _HAN,
        "CYRILLIC",
        "ETHIOPIC",
        "GEORGIAN",
        "GREEK",
        "HANGUL",
        "HEBREW",
        "HIRAGANA",
        "KATAKANA",
        "LATIN",
    ]
)
"""The first word in the names of a script's letters, for each recommended script (UAX #31, table 5)."""
_TECHNICAL: Final = (
    (0x0180, 0x0217),
    (0x021C, 0x02AF),
    (0x1100, 0x11FF),
    (0x1D00, 0x1DBF),
    (0x2C60, 0x2C7F),
    (0xA720, 0xA7FF),
    (0xA960, 0xA97F),
    (0xAB30, 0xAB6F),
    (0xD7B0, 0xD7FF),
)
"""Latin letters of phonetics and of former alphabets, and parts of Hangul syllables: many look as ASCII letters do."""
_MODERN: Final = frozenset("ƏƠơƯưǍǎǏǐǑǒǓǔǦǧǨǩǪǫəɓɗɛɔƁƊƐƆƘƙƴƳŊŋ")
"""Letters of living languages among `_TECHNICAL`."""
_FOLLOWING: Final[Mapping[str, frozenset[str]]] = {
    "\u3005": frozenset({_HAN}),
    "\u309d": frozenset({"HIRAGANA"}),
    "\u309e": frozenset({"HIRAGANA"}),
    "\u30fc": frozenset({"HIRAGANA", "KATAKANA"}),
    "\u30fd": frozenset({"KATAKANA"}),
    "\u30fe": frozenset({"KATAKANA"}),
    "\u0e46": frozenset({"THAI"}),
    "\u0ec6": frozenset({"LAO"}),
    "\u17d7": frozenset({"KHMER"}),
}
"""Signs that repeat or lengthen the letter before them, with the scripts of that letter. Alone, U+30FC reads as a hyphen."""
_ZERO: Final = "\u3007"
"""The zero of Han numerals."""
_STROKES: Final = re.compile("[\u30ce\u4e00\u4e36\u4e3f\u3007]+")
"""Letters of Chinese and Japanese that read as a slash, a hyphen or a 0 where no other letter is beside them."""
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""`Default_Ignorable_Code_Point` of Unicode 17.0 (DerivedCoreProperties.txt), which has the bidirectional controls, and
the blank of Braille. Python's `unicodedata` does not have the property."""
_LOOKS: Final = str.maketrans(
    "асԁеһіјӏорԛѕѵԝхуүҽАВСЕԌНІЈӀКМОРЅТѴԜХУҮЗαιϳνορυγΑΒΕϜΗΙΚΜϺΝΟΡΤΧΥΖքցհոռօզգսՕՏՍყჿငဝၚഠടଠዐሀ",
    "acdehijlopqsvwxyyeABCEGHIJIKMOPSTVWXYY3aijvopuyABEFHIKMMNOPTXYZfghnnoqquOSUyococosOOU",
)
"""Letters that look like an ASCII letter or digit, and that letter or digit: of Cyrillic, Greek, Armenian and, in the last
row, other recommended scripts that are written from left to right.

From confusables.txt of Unicode 17.0. Left out are Cyrillic U+0433, U+0448 and U+0431 and Greek U+03C3: in upright type
readers can distinguish them from r, w, 6 and o, and without this exception many ordinary words would be refused.
"""


def normalize_text(text: str, form: Literal["NFC", "NFKC"] = "NFKC") -> str:
    """Return a text in a normal form (UAX 15). A text longer than `LONGEST`, which is no valid name, is returned unchanged."""
    return text if len(text) > LONGEST else unicodedata.normalize(form, text)


def describe_letter_fault(text: str) -> str | None:
    """Return the fault of the letters, marks or digits of a text with its correction, or None."""
    hidden = _INVISIBLE.search(text)
    if hidden is not None:
        return f"{_code(hidden[0])} is invisible; remove the character"
    normal = normalize_text(text)
    if normal != text:
        return f"it has variant characters, such as full-width letters; write `{normal}` (Unicode form NFKC)"
    return _describe_odd(text) or _describe_mixture(text)


def describe_likeness_fault(text: str) -> str | None:
    """Return why readers would confuse a text with one of ASCII letters, digits and signs, or None.

    For names that programs use. Users may have names that look Latin; for these it is enough that no two look alike.
    """
    letters = [each for each in text if each.isalpha()]
    if any(ord(each) in _LOOKS for each in letters) and all(map(_reads_as_latin, letters)):
        return "all its letters look like Latin letters; use Latin letters, or add letters that do not look like Latin ones"
    alone = next((each for each in _STROKES.finditer(text) if not _is_beside_letters(text, *each.span())), None)
    if alone is not None:
        return f"`{alone[0]}` reads as a sign or a digit without letters beside it; put letters beside it"
    return None


def _reads_as_latin(letter: str) -> bool:
    return ord(letter) in _LOOKS or _script(letter) == "LATIN"


def script_skeleton(text: str) -> str:
    """Return the text as readers see it: without invisible characters, and with each ASCII look-alike replaced by the ASCII letter."""
    return _INVISIBLE.sub("", text).translate(_LOOKS)


def is_word_character(character: str) -> bool:
    """Return whether this is a letter, a digit or a mark on a letter, in any script."""
    return character.isalnum() or is_mark(character)


def is_mark(character: str) -> bool:
    """Return whether this is a mark on the letter before it."""
    return unicodedata.category(character) in ("Mn", "Mc", "Me")


def _describe_odd(text: str) -> str | None:
    """Return the fault of a character that is of no script in use, or does not belong to the letter before it, or None."""
    script, before = "", ""
    for each in text:
        if is_mark(each):
            if script not in _MARKED or _script(each) != script or each == before:
                return f"the mark {_code(each)} does not belong to the letter before it; remove the mark"
        elif each in _FOLLOWING:
            if script not in _FOLLOWING[each]:
                return f"{_code(each)} does not belong to the letter before it; replace the character"
        elif each.isalpha() or each == _ZERO:
            script = _script(each)
            if not _is_modern(each, script):
                return f"{_code(each)} is not a letter of a script in common use; replace the letter"
        else:
            script = ""
            if each.isnumeric() and not each.isascii():
                return f"{_code(each)} is not one of the digits 0 to 9; use these digits"
        before = each
    return None


def _describe_mixture(text: str) -> str | None:
    scripts = frozenset(_scripts(text))
    if len(scripts) <= 1 or any(scripts <= each for each in _SETS):
        return None
    names = sorted("Han" if each == _HAN else each.title() for each in scripts)
    return f"it mixes letters of {' and '.join(names)}; use letters of one script"


def _is_beside_letters(text: str, start: int, end: int) -> bool:
    left, right = text[:start][-1:], text[end:][:1]
    if _ZERO in text[start:end] and (left.isdigit() or right.isdigit()):
        return False
    return left.isalpha() or right.isalpha()


def _scripts(text: str) -> Iterator[str]:
    for each in text:
        if each.isalpha() and each not in _FOLLOWING:
            yield _script(each)


def _script(letter: str) -> str:
    return _HAN if letter in "\u3006\u3007" else unicodedata.name(letter, "").partition(" ")[0]


def _is_modern(letter: str, script: str) -> bool:
    if letter in _MODERN:
        return True
    if unicodedata.category(letter) == "Lm" or any(first <= ord(letter) <= last for first, last in _TECHNICAL):
        return False
    return script in _RECOMMENDED


def _code(character: str) -> str:
    return f"U+{ord(character):04X}"
