"""One module normalizes texts; it bounds the time that a caller's text can take."""

from pathlib import Path

import pytest

import headgate
from headgate.control.kernel.display_names import confusable_key
from headgate.control.kernel.login_normalization import nfkc_casefold
from headgate.control.text.confusables import LONGEST, normalize_text

SOURCES = Path(headgate.__file__).parent


def test_a_text_is_brought_into_its_normal_form() -> None:
    assert normalize_text("e\u0301\ufb01") == "\xe9fi"
    assert normalize_text("e\u0301\ufb01", "NFC") == "\xe9\ufb01"


def test_a_text_longer_than_any_name_stays_as_it_is() -> None:
    marks = "a" + "\u0301" * LONGEST

    assert normalize_text(marks) is marks
    assert normalize_text(marks[:LONGEST]) != marks[:LONGEST]


@pytest.mark.parametrize("unit", ["\u0301", "\u0344", "\u0301\u0316", "\ufdfa", "\u1e9b\u0323", "e\u0301"])
@pytest.mark.parametrize("times", [LONGEST // 3, 400_000])
def test_a_folded_text_is_the_same_when_it_is_folded_again(unit: str, times: int) -> None:
    once = nfkc_casefold("a" + unit * times)

    assert nfkc_casefold(once) == once
    assert all(confusable_key(once))


def test_no_other_module_normalizes_texts() -> None:
    callers = {
        file.relative_to(SOURCES).as_posix() for file in SOURCES.rglob("*.py") if ".normalize(" in file.read_text()
    }

    assert callers == {"control/text/confusables.py"}
