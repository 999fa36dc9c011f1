"""Lists of the guard's resource files, which the gateway reads too so that both use the same ones."""

from pathlib import Path
from typing import Final

_LISTS: Final = Path(__file__).parents[2] / "guard" / "resources" / "headgate"


def read_lines(name: str) -> list[list[str]]:
    """Return the words of each line of a list; text after `#` is a comment."""
    lines = (_LISTS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [words for line in lines if (words := line.partition("#")[0].split())]


def read_first_words(name: str) -> frozenset[str]:
    """Return the first word of each line of a list. The rest of a line is a number range."""
    return frozenset(words[0] for words in read_lines(name))
