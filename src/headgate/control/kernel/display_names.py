"""Display names: which names users, service principals and groups may have, and which names are confusable."""

import re
from typing import Final

from headgate.control.kernel.command import CommandContext
from headgate.control.kernel.errors import InvalidError
from headgate.control.kernel.ids import describe_id_fault
from headgate.control.kernel.login_normalization import nfkc_casefold
from headgate.control.text.confusables import (
    describe_letter_fault,
    describe_likeness_fault,
    is_word_character,
    script_skeleton,
)
from headgate.facts.ids import PrincipalId

_LONGEST = 100
_WORDS = re.compile(r"[^\s/\\]+(?: [^\s/\\]+)*")
_SIGNS: Final = (
    "\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb\u2013\u2014\u00b7\u30fb\u05f3\u05f4\u00a7\u00b0\u20ac\u00a3\u00a5"
)
"""Signs outside ASCII that names may contain. Others look like slashes, look like each other, or are invisible."""
_PLAIN: Final = str.maketrans("\u2018\u2019\u05f3\u201c\u201d\u201e\u05f4\u2013\u2014", '\'\'\'""""--')
"""Signs that readers confuse with an ASCII sign, and that ASCII sign."""


def require_display_name(view: CommandContext, title: str) -> None:
    """Raise `InvalidError` for an invalid name of a service principal, group or role. The deployment itself may use any name."""
    usable_display_name(view, title)
    if view.caller is not None:
        _refuse(title, describe_id_fault(title) or describe_likeness_fault(title))


def usable_name_of_user(view: CommandContext, user: PrincipalId, title: str) -> None:
    """Raise `InvalidError` for an invalid name of a user. A name like an id is invalid, except the user's own id."""
    usable_display_name(view, title)
    if view.caller is not None and title != user:
        _refuse(title, describe_id_fault(title))


def usable_display_name(view: CommandContext, title: str) -> None:
    """Raise `InvalidError` for a name that no user may have. The deployment itself may use the name that it knows.

    A name whose letters all look like Latin ones is valid here, because users do not choose their names. Confusable names
    in one organization are refused when a name is taken: see `confusable_key` and `Directory.is_free`.
    """
    if view.caller is None:
        return
    if len(title) > _LONGEST or not _WORDS.fullmatch(title):
        raise InvalidError(
            f"the name is too long, or has a slash or spaces that are not single; use 1 to {_LONGEST} "
            "letters, digits, signs and single spaces"
        )
    # Word by word: a user may have a name in two scripts.
    _refuse(title, next(filter(None, map(describe_letter_fault, title.split(" "))), None))
    _refuse(title, _describe_signs(title))


def confusable_key(title: str) -> frozenset[str]:
    """Return the skeletons of a name; two names that have a skeleton in common are confusable.

    Letters are compared by their look as written, and again in lower case: U+0412 looks like B, but U+0432 like no letter.
    """
    return frozenset((_derive_skeleton(nfkc_casefold(title)), nfkc_casefold(_derive_skeleton(title))))


def _derive_skeleton(title: str) -> str:
    return script_skeleton(title.translate(_PLAIN))


def _describe_signs(title: str) -> str | None:
    odd = next((each for each in title if not _is_sign_of_names(each)), None)
    if odd is not None:
        return f"U+{ord(odd):04X} is not allowed in names; use letters, digits and the signs of a keyboard"
    if not any(each.isalnum() for each in title):
        return "it has no letter or digit; add one"
    return None


def _is_sign_of_names(character: str) -> bool:
    if character.isascii():
        return character.isprintable()
    return is_word_character(character) or character in _SIGNS


def _refuse(title: str, fault: str | None) -> None:
    if fault is not None:
        raise InvalidError(f"`{title}` cannot be a name: {fault}")
