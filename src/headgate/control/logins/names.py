"""Login names and addresses: one spelling for all that look the same."""

import re
import unicodedata

from headgate.control.command import InvalidError

_LONGEST = 100
_USABLE = re.compile(r"\w[\w.@+-]*")
_ADDRESS = re.compile(r"[^\s@]+@[^\s@]+")
_LONGEST_ADDRESS = 254


def login_name(text: str) -> str:
    """Return the one spelling of a login name. Raises `InvalidError` for what cannot be one."""
    name = folded(text)
    if len(name) > _LONGEST or not _USABLE.fullmatch(name):
        raise InvalidError(f"a login name is 1 to {_LONGEST} letters, digits, `.`, `@`, `+`, `_` and `-`")
    scripts = {unicodedata.name(letter, "").split(" ")[0] for letter in name if letter.isalpha()}
    if "LATIN" in scripts and len(scripts) > 1:
        # Or a Cyrillic letter in the middle makes a second `admin`.
        raise InvalidError("a login name does not mix Latin letters with those of another script")
    return name


def address(text: str) -> str:
    """Return the one spelling of an e-mail address. Raises `InvalidError` for what cannot be one."""
    found = folded(text)
    if len(found) > _LONGEST_ADDRESS or not _ADDRESS.fullmatch(found) or not found.isprintable():
        raise InvalidError("that is not an e-mail address")
    return found


def domain(address: str) -> str:
    """Return the domain of an address."""
    return address.rpartition("@")[2]


def folded(text: str) -> str:
    """Return the text without differences of case and compatibility (NFKC); the same again for what it returns."""
    before, after = text, unicodedata.normalize("NFKC", text.casefold())
    while before != after:
        before, after = after, unicodedata.normalize("NFKC", after.casefold())
    return after
