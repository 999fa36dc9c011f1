"""Login names and addresses: one spelling for all that look the same."""

import re
import unicodedata

from headgate.control.command import InvalidError
from headgate.control.scripts import describe_letter_fault, describe_likeness_fault, is_word_character

_LONGEST = 100
_ADDRESS = re.compile(r"[^\s@]+@[^\s@]+")
_LONGEST_ADDRESS = 254


def login_name(text: str) -> str:
    """Return the one spelling of a login name. Raises `InvalidError` for what cannot be one.

    For names that may be there already; a new one is held to `new_login_name`.
    """
    name = folded(text)
    if len(name) > _LONGEST or not (name[:1].isalnum() or name[:1] == "_") or not all(map(_is_usable, name)):
        raise InvalidError(f"a login name is 1 to {_LONGEST} letters, digits, `.`, `@`, `+`, `_` and `-`")
    return name


def new_login_name(text: str) -> str:
    """Return the one spelling of a login name that readers cannot take for another. Raises `InvalidError`."""
    name = login_name(text)
    fault = describe_letter_fault(name) or describe_likeness_fault(name)
    if fault is not None:
        raise InvalidError(f"`{name}` cannot be a login name: {fault}")
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


def _is_usable(character: str) -> bool:
    return is_word_character(character) or character in "_.@+-"
