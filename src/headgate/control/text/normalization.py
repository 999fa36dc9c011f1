"""Unicode's normal forms (UAX 15), for texts of a length that names, addresses and passwords can have."""

import unicodedata
from typing import Final, Literal

LONGEST: Final = 2048
"""In characters. Normalizing takes the square of the number of marks in a row, in C, where nothing else of the process runs."""


def normalized(text: str, form: Literal["NFC", "NFKC"] = "NFKC") -> str:
    """Return a text in a normal form; a longer one than `LONGEST`, which is no name, as it is."""
    return text if len(text) > LONGEST else unicodedata.normalize(form, text)
