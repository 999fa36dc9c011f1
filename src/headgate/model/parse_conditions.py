"""Parser of `when`: one condition per line, all of which must hold.

condition = [ "not" ] NAME
          | operand ( "is" | "is not" ) value
          | operand ( "in" | "not in" ) value { value }
          | ( "any" | "no" ) [ "parent." ] "setting." NAME ( "is" value | "in" value { value } )
operand   = ( "setting." | "parent.setting." | "self." | "parent." | "with." ) NAME
value     = WORD | "'" words with spaces "'"
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.model import Condition, Setting, When
from headgate.model.reader import Reader, Value
from headgate.model.yaml_parser import ListNode, ScalarNode

_WORD = re.compile(r"'[^']*'|[^\s']+")
_ROOTS = ("setting", "self", "parent", "with")
_PARENT = "parent."
_JOINED = {
    "or": "write each alternative as an entry or a rule of its own",
    "and": "write each condition as an entry of a list: `when: [A, B]`",
}
"""Words by which other languages join conditions, and what to write instead."""
_ABOVE_PARENT = re.compile(r"(self|parent)\.parent(\..*)?")


def read_when(read: Reader, value: Value, settings: Mapping[str, Setting], conditions: Collection[str]) -> When:
    """Return the conditions of a `when`: one, or a list of them."""
    written = [
        each for item in (read.items(value) if isinstance(value, ListNode) else (value,)) for each in read.word(item)
    ]
    terms = [_term(read, each, settings, conditions) for each in written if not _is_joined(read, each)]
    return tuple(term for term in terms if term)


def _words(text: ScalarNode) -> Sequence[ScalarNode]:
    return [text.part(*found.span()) for found in _WORD.finditer(text.value)]


def _is_joined(read: Reader, text: ScalarNode) -> bool:
    """Return whether several conditions are joined in one line, which is reported."""
    joined = next((word for word in _words(text) if word.value.lower() in _JOINED), None)
    if joined is not None:
        read.report.add(DiagnosticCode.JOINED, joined, _JOINED[joined.value.lower()], word=joined.value)
    return joined is not None


def _term(
    read: Reader, text: ScalarNode, settings: Mapping[str, Setting], conditions: Collection[str]
) -> Condition | None:
    words = _words(text)
    match [word.value for word in words]:
        case [name] | ["not", name] if "." not in name:
            return Condition(
                "named", read.known_name(words[-1], conditions, DiagnosticCode.UNKNOWN_CONDITION), (), len(words) > 1
            )
        case ["any" | "no" as amount, operand, "is", _] | ["any" | "no" as amount, operand, "in", _, *_] if (
            operand.removeprefix(_PARENT).startswith("setting.")
        ):
            return _any_setting(read, words[1], words[3:], settings, amount)
        case [_, "is", "not", _] | [_, "not", "in", _, *_]:
            return _compared(read, words[0], words[3:], settings, negated=True)
        case [_, "is", _] | [_, "in", _, *_]:
            return _compared(read, words[0], words[2:], settings)
        case _:
            forms = "write `NAME`, `OPERAND is VALUE` or `OPERAND in VALUES`, or one of these with `not`"
            read.report.add(DiagnosticCode.NO_TERM, text, forms, word=text.value)
            return None


def _any_setting(
    read: Reader, operand: ScalarNode, written: Sequence[ScalarNode], settings: Mapping[str, Setting], amount: str
) -> Condition | None:
    found = _compared(read, operand, written, settings, negated=amount == "no")
    return replace(found, root=f"any_{found.root}") if found else None


def is_above_parent(place: str) -> bool:
    """Return whether a place or an operand leads above the parent of the resource, or says `self.parent` for `parent`."""
    return _ABOVE_PARENT.fullmatch(place) is not None


def report_above_parent(read: Reader, place: ScalarNode) -> None:
    """Report such a place or operand."""
    words = place.value.removeprefix("each ")
    near = words.removeprefix("self.") if words.startswith("self.parent") and ".parent.parent" not in words else ""
    otherwise = "bring the role down to `parent` by a `spread` rule, or use a setting of the resource above"
    suggestion = f"did you mean `{near}`?" if near else otherwise
    read.report.add(DiagnosticCode.ABOVE_PARENT, place, suggestion, word=words)


def _suggest_values(word: str) -> str:
    """Return the suggestion for a word with which a list begins, which a condition cannot name."""
    return "a condition names no list; write the values themselves" if word == "all" else ""


def _compared(
    read: Reader,
    operand: ScalarNode,
    written: Sequence[ScalarNode],
    settings: Mapping[str, Setting],
    *,
    negated: bool = False,
) -> Condition | None:
    values = [word.part(1, len(word.value) - 1) if word.value.startswith("'") else word for word in written]
    if operand.value.startswith(f"{_PARENT}setting."):
        above = operand.part(len(_PARENT), len(operand.value))
        found = _compared(read, above, written, settings, negated=negated)
        return replace(found, root="parent_setting") if found else None
    root, _, name = operand.value.partition(".")
    if is_above_parent(operand.value):
        report_above_parent(read, operand)
        return None
    if root not in _ROOTS or not name:
        switches = {switch: f"setting.{switch}" for switch in settings}
        word, roots = (root, _ROOTS) if name else (operand.value, ())
        forms = "write `setting.NAME`, `self.ATTRIBUTE`, `parent.ATTRIBUTE` or `with.PARAMETER`"
        read.report.unknown(DiagnosticCode.UNKNOWN_OPERAND, operand, word, roots, other_words=switches, otherwise=forms)
        return None
    if root == "setting":
        known = read.known_names(
            [operand.part(len(root) + 1, len(operand.value))], settings, DiagnosticCode.UNKNOWN_SETTING
        )
        for setting in known:
            stated = settings[setting].values
            checked = values if stated else ()
            read.known_names(checked, stated, DiagnosticCode.UNKNOWN_VALUE, otherwise=_suggest_values)
    return Condition(root, name, tuple(value.value for value in values), negated)
