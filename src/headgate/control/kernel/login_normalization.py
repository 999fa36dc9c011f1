"""Login names, in one spelling for all that look the same, and addresses, which are compared as they were given."""

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
    """Return the one spelling of a login name. Raises `InvalidError` for what cannot be one.

    For names that may be there already; a new one is held to `new_login_name`.
    """
    name = nfkc_casefold(text)
    if len(name) > _LONGEST or not (name[:1].isalnum() or name[:1] == "_") or not all(map(_is_usable, name)):
        raise InvalidError(f"a login name is 1 to {_LONGEST} letters, digits, `.`, `@`, `+`, `_` and `-`")
    return name


def parse_existing_login(text: str) -> str:
    """Return the login name of the user that a caller means, who proves nothing. Raises `InvalidError`.

    Names compare exactly, except for the case of ASCII letters; a look-alike names no user.
    """
    name = login_name(text)
    if ascii_lower(text) != name:
        raise InvalidError(
            f"`{text}` is not the login name `{name}`; write the name as `headgate deployment-user list` shows it"
        )
    return name


def new_login_name(text: str) -> str:
    """Return the one spelling of a login name that readers cannot take for another. Raises `InvalidError`."""
    name = login_name(text)
    faults = (describe_id_fault, describe_letter_fault, describe_likeness_fault, _describe_dotless_fault)
    fault = next(filter(None, (describe(name) for describe in faults)), None)
    if fault is not None:
        raise InvalidError(f"`{name}` cannot be a login name: {fault}")
    return name


def _describe_dotless_fault(name: str) -> str | None:
    """Return why a name with U+0131 cannot be a login name. Words of Turkish need it, and other names may have it."""
    return f"`{_DOTLESS}` (U+0131) reads as `i`; write `i`" if _DOTLESS in name else None


def normalize_address(text: str) -> str:
    """Return the spelling of an e-mail address that identity is compared by. Raises `InvalidError` for none.

    The domain is in its IDNA form and lower case, the local part as it was given but for the case of ASCII: `straße@` and
    `strasse@` are two mailboxes.
    """
    local, _, domain = text.rpartition("@")
    found = f"{ascii_lower(local)}@{domain_name(domain)}"
    if len(found) > _LONGEST_ADDRESS or not _ADDRESS.fullmatch(found) or not found.isprintable():
        raise InvalidError("that is not an e-mail address")
    return found


def domain_name(text: str) -> str:
    """Return a domain in its IDNA form and lower case. Raises `InvalidError` for letters that only look like others."""
    if len(text) > _LONGEST_ADDRESS:
        raise InvalidError("that is not a domain; it is too long")
    if normalize_text(text) != text:
        raise InvalidError("the domain of the address has letters that stand for others; write it in plain ones")
    try:
        return ".".join(map(_idna_label, text.split(".")))
    except UnicodeError:
        raise InvalidError("the domain of the address is not a text that can be written in IDNA") from None


def domain_of(address: str) -> str:
    """Return the domain of an address."""
    return address.rpartition("@")[2]


def address_skeleton(address: str) -> str:
    """Return what an address of `address` looks like; two that look alike are not given to two users."""
    local, _, domain = address.rpartition("@")
    return nfkc_casefold(f"{local}@{'.'.join(map(_format_label, domain.split('.')))}")


def nfkc_casefold(text: str) -> str:
    """Return the text without differences of case and compatibility (NFKC); the same again for what it returns."""
    before, after = text, normalize_text(text.casefold())
    while before != after:
        before, after = after, normalize_text(after.casefold())
    return after


def ascii_lower(text: str) -> str:
    """Return the text in which names are compared: as it is written, but for the case of ASCII."""
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
