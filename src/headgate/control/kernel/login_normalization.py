"""Login normalization: one spelling for login names that look the same, and the comparison form of e-mail addresses."""

import re

from headgate.control.kernel.errors import InvalidError
from headgate.control.kernel.ids import describe_id_fault
from headgate.control.text.confusables import (
    describe_letter_fault,
    describe_likeness_fault,
    is_word_character,
    normalize_text,
)

_LONGEST = 100
_ADDRESS = re.compile(r"[^\s@]+@[^\s@]+")
_LONGEST_ADDRESS = 254
_IDNA = "xn--"
_DOTLESS = "\u0131"


def login_name(text: str) -> str:
    """Return the normalized spelling of a login name. Raises `InvalidError` for an invalid one.

    For names that may exist already; new names are checked by `new_login_name`.
    """
    name = nfkc_casefold(text)
    if len(name) > _LONGEST or not (name[:1].isalnum() or name[:1] == "_") or not all(map(_is_usable, name)):
        raise InvalidError(
            f"the login name is invalid; use 1 to {_LONGEST} letters, digits, `.`, `@`, `+`, `_` and `-`, and begin with a "
            "letter, a digit or `_`"
        )
    return name


def parse_existing_login(text: str) -> str:
    """Return the login name by which a caller names a user without proof of identity. Raises `InvalidError`.

    Names are compared exactly, except for the case of ASCII letters, so that a look-alike names no user.
    """
    name = login_name(text)
    if ascii_lower(text) != name:
        raise InvalidError(
            f"`{text}` is not spelled like the login name `{name}`; write the name as `headgate deployment-user list` shows it"
        )
    return name


def new_login_name(text: str) -> str:
    """Return the normalized spelling of a new login name. Raises `InvalidError` for one that readers may confuse with another."""
    name = login_name(text)
    faults = (describe_id_fault, describe_letter_fault, describe_likeness_fault, _describe_dotless_fault)
    fault = next(filter(None, (describe(name) for describe in faults)), None)
    if fault is not None:
        raise InvalidError(f"`{name}` cannot be a login name: {fault}")
    return name


def _describe_dotless_fault(name: str) -> str | None:
    """Return why a login name may not have U+0131, or None. Other names may have it, because Turkish words need it."""
    return f"`{_DOTLESS}` (U+0131) reads as `i`; write `i`" if _DOTLESS in name else None


def normalize_address(text: str) -> str:
    """Return the comparison form of an e-mail address, by which identity is decided. Raises `InvalidError` for no address.

    The domain is in IDNA form and lower case. The local part is unchanged except for the case of ASCII letters: `straße@`
    and `strasse@` are two mailboxes.
    """
    local, _, domain = text.rpartition("@")
    found = f"{ascii_lower(local)}@{domain_name(domain)}"
    if len(found) > _LONGEST_ADDRESS or not _ADDRESS.fullmatch(found) or not found.isprintable():
        raise InvalidError("the e-mail address is invalid; write it as `name@example.org`")
    return found


def domain_name(text: str) -> str:
    """Return a domain in IDNA form and lower case. Raises `InvalidError` for compatibility characters, which look like others."""
    if len(text) > _LONGEST_ADDRESS:
        raise InvalidError(
            f"the domain of the e-mail address is longer than {_LONGEST_ADDRESS} characters; correct the address"
        )
    if normalize_text(text) != text:
        raise InvalidError(
            "the domain of the e-mail address has variant characters, such as full-width letters; write the domain with ordinary "
            "characters (Unicode form NFKC)"
        )
    try:
        return ".".join(map(_idna_label, text.split(".")))
    except UnicodeError:
        raise InvalidError("the domain of the e-mail address is not a valid DNS name; correct the address") from None


def domain_of(address: str) -> str:
    """Return the domain of an address."""
    return address.rpartition("@")[2]


def address_skeleton(address: str) -> str:
    """Return the skeleton of a normalized address: how it looks. Two users may not have addresses with the same skeleton."""
    local, _, domain = address.rpartition("@")
    return nfkc_casefold(f"{local}@{'.'.join(map(_format_label, domain.split('.')))}")


def nfkc_casefold(text: str) -> str:
    """Return the text casefolded and in NFKC form, until neither changes it any more (idempotent)."""
    before, after = text, normalize_text(text.casefold())
    while before != after:
        before, after = after, normalize_text(after.casefold())
    return after


def ascii_lower(text: str) -> str:
    """Return the text with its ASCII letters in lower case: the form in which names are compared."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


def _idna_label(label: str) -> str:
    lower = normalize_text(label.lower(), "NFC")
    return lower if lower.isascii() else f"{_IDNA}{lower.encode('punycode').decode('ascii')}"


def _format_label(label: str) -> str:
    if not label.startswith(_IDNA):
        return label
    try:
        return label.removeprefix(_IDNA).encode("ascii").decode("punycode")
    except UnicodeError:
        return label


def _is_usable(character: str) -> bool:
    return is_word_character(character) or character in "_.@+-"
