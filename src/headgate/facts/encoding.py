"""JSON encoding of changes, and the facts file: an organization's changes, one per line, with or without entry lines.

A field that a later version adds with a default may be missing in an older text. Everything else that does not match is
refused: facts that are only partly understood would lead to wrong decisions.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from math import isfinite
from typing import Any, TypeAlias, cast

from headgate.facts import changes as change_types
from headgate.facts.changes import Change
from headgate.facts.consistency import Inconsistency, find_inconsistency, find_log_inconsistency
from headgate.facts.fold import apply
from headgate.facts.history import HistoryEntry, State
from headgate.facts.record_schema import ListShape, MapShape, OptionalShape, RecordShape, ScalarShape, Shape, shape_of
from headgate.facts.snapshot import Snapshot

TAG = "change"
"""The key of a change's type. Not `type`: a resource's own type is a field of that name."""

ENTRY = "entry"
"""The key of an entry's revision, in the line before its changes."""

FORMAT, VERSION = "headgate facts", 1

END_OF_TIME = 253_402_300_800.0
"""The first second after the year 9999, in seconds since the epoch."""

_MOST_COMPARED, _LONGEST_COMPARED = 10_000, 200
"""The most ids among which a similar one is searched, and its most characters: a comparison of ordinary ids takes about 0.2 ms."""

Json: TypeAlias = "bool | float | str | list[Json] | dict[str, Json] | None"

_KINDS: Mapping[type, str] = {str: "a string", bool: "true or false", int: "a whole number", float: "a finite number"}

_TYPES: Mapping[str, type[Change]] = {
    "OrganizationCreated": change_types.OrganizationCreated,
    "PrincipalAdded": change_types.PrincipalAdded,
    "PrincipalExpires": change_types.PrincipalExpires,
    "PrincipalRemoved": change_types.PrincipalRemoved,
    "GroupCreated": change_types.GroupCreated,
    "GroupDeleted": change_types.GroupDeleted,
    "MemberAdded": change_types.MemberAdded,
    "MemberRemoved": change_types.MemberRemoved,
    "TokenIssued": change_types.TokenIssued,
    "TokenRevoked": change_types.TokenRevoked,
    "ResourceCreated": change_types.ResourceCreated,
    "ResourceRenamed": change_types.ResourceRenamed,
    "ResourceDeleted": change_types.ResourceDeleted,
    "RelationsSet": change_types.RelationsSet,
    "AttributesSet": change_types.AttributesSet,
    "SettingChanged": change_types.SettingChanged,
    "GovernedBy": change_types.GovernedBy,
    "HomeModelChanged": change_types.HomeModelChanged,
    "ModelUpgraded": change_types.ModelUpgraded,
    "ModelInstalled": change_types.ModelInstalled,
    "ModelRemoved": change_types.ModelRemoved,
    "CustomRoleDefined": change_types.CustomRoleDefined,
    "CustomRoleDeleted": change_types.CustomRoleDeleted,
    "AccessRequested": change_types.AccessRequested,
    "AccessApproved": change_types.AccessApproved,
    "AccessEnded": change_types.AccessEnded,
    "AccessDeleted": change_types.AccessDeleted,
    "ChangeRequested": change_types.ChangeRequested,
    "ChangeDecided": change_types.ChangeDecided,
    "RequestFiled": change_types.RequestFiled,
    "RequestDecided": change_types.RequestDecided,
    "RunAsSet": change_types.RunAsSet,
    "RoleAssigned": change_types.RoleAssigned,
    "RoleRevoked": change_types.RoleRevoked,
    "RunStarted": change_types.RunStarted,
    "RunEnded": change_types.RunEnded,
}
"""The spelling of each type in logs and files. It is fixed: a class may be renamed, its spelling may not change."""

_SPELLINGS = {kind: spelling for spelling, kind in _TYPES.items()}


class FactsError(Exception):
    """A text is not valid facts; the message says what does not match and, for a file, on which line."""


def encode(change: Change) -> dict[str, Json]:
    """Return the change as a JSON object: its type under `change`, and its fields."""
    return {TAG: _SPELLINGS[type(change)], **cast("dict[str, Json]", _plain(shape_of(type(change)), change))}


def decode(value: object) -> Change:
    """Return the change of a JSON object. Raises `FactsError` for any other value."""
    fields = dict(cast("dict[object, object]", value)) if isinstance(value, dict) else {}
    name = fields.pop(TAG, None)
    if not isinstance(name, str) or name not in _TYPES:
        raise FactsError(
            f"`{name}` is not a type of change that this version of Headgate knows; use the version that wrote the file"
        )
    return cast("Change", _read(shape_of(_TYPES[name]), fields, name))


def write_history(entries: Iterable[HistoryEntry], revision: int) -> Iterator[str]:
    """Yield the lines of the facts file for a log's entries up to this revision; each entry's revision can be evaluated later."""
    yield _line({"format": FORMAT, "version": VERSION, "revision": revision})
    for entry in entries:
        yield _line({ENTRY: entry.revision, "at": entry.at})
        yield from (_line(encode(change)) for change in entry.changes)


def read_history(lines: Iterable[str]) -> Iterator[State]:
    """Yield the state after each entry line of a facts file, and at least the state at its end.

    Raises `FactsError`, with the number of the line, if the file is invalid.
    """
    numbered = _filled_lines(lines)
    end = _revision(*next(numbered, (1, "")))
    state, begun = State().next_revision(end, None), False
    for number, line in numbered:
        value = _value(number, line)
        if isinstance(value, dict) and ENTRY in value:
            if begun:
                yield state
            state = state.next_revision(*_entry(number, value, state.facts.revision if begun else 0))
        else:
            change = _read_change(number, value)
            _require_consistent(state.facts, number, find_log_inconsistency(state.facts, change))
            state = _apply(state, number, change)
        begun = True
    if state.facts.revision != end:
        raise FactsError(
            f"the last entry has revision {state.facts.revision}, but the first line states revision {end}; run `headgate facts export` again"
        )
    yield state


def read_changes(lines: Iterable[str], facts: Snapshot) -> Iterator[tuple[int, Change, Snapshot]]:
    """Yield the number of each line, its change, which can follow these facts and the changes before it, and the facts after it.

    Raises `FactsError`, with the number of the line, for any other line.
    """
    for number, line in _filled_lines(lines):
        change = _read_change(number, _value(number, line))
        _require_consistent(facts, number, find_inconsistency(facts, change))
        facts = apply(facts, change)
        yield number, change, facts


def _filled_lines(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(lines, start=1) if line.strip())


def _revision(number: int, line: str) -> int:
    if not line:
        raise FactsError("the facts file is empty; name a file that `headgate facts export` wrote")
    header = _value(number, line)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise FactsError(
            f"line {number}: the file is not a facts file, which begins with a line that contains `{_line({'format': FORMAT})[1:-1]}`; name a file that `headgate facts export` wrote"
        )
    if header.get("version") != VERSION:
        raise FactsError(
            f"line {number}: the facts file has version {header.get('version')}, and this version of Headgate reads version "
            f"{VERSION}; run `headgate facts export` again, with this version of Headgate"
        )
    revision = header.get("revision")
    if type(revision) is not int or revision < 0:
        raise FactsError(
            f"line {number}: `revision` is not a whole number of 0 or more; run `headgate facts export` again"
        )
    return revision


def _entry(number: int, fields: dict[str, Json], before: int) -> tuple[int, float]:
    if fields.keys() != {ENTRY, "at"}:
        raise FactsError(
            f"line {number}: an entry lacks one of the keys `entry` (its revision) and `at` (when it was written), or has another key; correct the line"
        )
    revision, at = fields[ENTRY], fields["at"]
    if type(revision) is not int or revision <= before:
        raise FactsError(
            f"line {number}: the revision in `entry` is not a whole number above the previous revision, {before}; correct the line"
        )
    try:
        time = cast("float", _scalar(float, at, "at"))
        _require_seconds(time, "at")
    except FactsError as error:
        raise FactsError(f"line {number}: {error}") from error
    return revision, time


def _apply(state: State, number: int, change: Change) -> State:
    try:
        return state.apply_change(change)
    except KeyError as error:
        raise FactsError(
            f"line {number}: the change refers to `{error.args[0]}`, which no earlier line creates; correct the line"
        ) from error


def _read_change(number: int, value: Json) -> Change:
    try:
        _require_type(value)
        change = decode(value)
        _require_kind(change)
        for field in ("starts", "ends"):
            _require_seconds(getattr(change, field, None), field)
    except FactsError as error:
        raise FactsError(f"line {number}: {error}{_similar_type(value)}") from error
    return change


def _require_consistent(facts: Snapshot, number: int, wrong: Inconsistency | None) -> None:
    if wrong is not None:
        raise FactsError(f"line {number}: {wrong.text}; {_fix(facts, wrong)}")


def _similar_type(value: Json) -> str:
    """Return the end of a message about an unknown type of change, if a known type is similar; else an empty text."""
    name = value.get(TAG) if isinstance(value, dict) else None
    meant = get_close_matches(name, _TYPES, n=1) if isinstance(name, str) and name not in _TYPES else ()
    return f", or correct it to `{meant[0]}` if it is misspelt" if meant else ""


def _require_type(value: Json) -> None:
    if isinstance(value, dict) and "format" in value:
        raise FactsError("this is the first line of a facts file; write only changes, one on each line")
    if not isinstance(value, dict) or TAG not in value:
        raise FactsError(f"the line is not an object with the type of a change under `{TAG}`; correct the line")


def _require_kind(change: Change) -> None:
    if isinstance(change, change_types.PrincipalAdded) and change.kind not in change_types.PRINCIPAL_KINDS:
        kinds = " or ".join(f"`{each}`" for each in change_types.PRINCIPAL_KINDS)
        raise FactsError(f"no principal can have the kind `{change.kind}`; write {kinds}")


def _require_seconds(time: float | None, field: str) -> None:
    if time is not None and not 0 <= time < END_OF_TIME:
        raise FactsError(
            f"`{field}` is not between 1970 and the year 9999; write the time in seconds since the epoch, not in milliseconds"
        )


def _fix(facts: Snapshot, wrong: Inconsistency) -> str:
    if wrong.known is None:
        return "correct the line, or remove it"
    named = facts.find(wrong.id.split("."))
    if named is not None and named.id in wrong.known:
        return f"write `{named.id}`, the id of the resource of this name"
    is_quick = len(wrong.known) <= _MOST_COMPARED and len(wrong.id) <= _LONGEST_COMPARED
    meant = get_close_matches(wrong.id, wrong.known, n=1) if is_quick else ()
    return f"did you mean `{meant[0]}`?" if meant else "correct the line, or create what it names in an earlier line"


def _value(number: int, line: str) -> Json:
    try:
        return cast("Json", json.loads(line))
    except (ValueError, RecursionError) as error:
        raise FactsError(f"line {number}: the line is not valid JSON; correct the line") from error


def _line(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _plain(shape: Shape, value: Any) -> Json:  # noqa: ANN401 (its shape says what it is)
    match shape:
        case RecordShape(_, members):
            return {each.name: _plain(each.shape, getattr(value, each.name)) for each in members}
        case MapShape(_, inner, _):
            return {key: _plain(inner, each) for key, each in value.items()}
        case ListShape(inner, _):
            return [_plain(inner, each) for each in value]
        case OptionalShape(inner):
            return None if value is None else _plain(inner, value)
        case ScalarShape():
            return value


def _read(shape: Shape, value: object, where: str) -> object:
    match shape:
        case RecordShape():
            return _record(shape, value, where)
        case MapShape(_, inner, build) if isinstance(value, dict):
            items = cast("dict[object, object]", value).items()
            return build((_scalar(str, key, where), _read(inner, each, f"{where}[…]")) for key, each in items)
        case ListShape(inner, build) if isinstance(value, list):
            return build(_read(inner, each, f"{where}[{at}]") for at, each in enumerate(cast("list[object]", value)))
        case OptionalShape(inner):
            return None if value is None else _read(inner, value, where)
        case ScalarShape(kind):
            return _scalar(kind, value, where)
        case MapShape():
            raise _wrong_type(where, "an object")
        case ListShape():
            raise _wrong_type(where, "a list")


def _record(shape: RecordShape, value: object, where: str) -> object:
    fields = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    required = {each.name for each in shape.members if each.required}
    if not isinstance(value, dict):
        raise _wrong_type(where, "an object")
    if missing := sorted(required - fields.keys()):
        raise FactsError(f"`{where}` lacks the required field `{missing[0]}`; add it")
    known = [each.name for each in shape.members]
    if not fields.keys() <= set(known):
        raise FactsError(
            f"`{where}` has a field that is none of {', '.join(f'`{each}`' for each in known)}; use the version of Headgate that wrote the file, or remove the field"
        )
    named = ((each.name, each.shape) for each in shape.members if each.name in fields)
    return shape.kind(**{name: _read(inner, fields[name], f"{where}.{name}") for name, inner in named})


def _scalar(kind: type, value: object, where: str) -> object:
    if kind is float and type(value) in (int, float):
        return _number(cast("float", value), where)
    if type(value) is not kind:
        raise _wrong_type(where, _KINDS[kind])
    return value


def _number(value: float, where: str) -> float:
    try:
        number = float(value)
    except OverflowError as error:
        raise _wrong_type(where, _KINDS[float]) from error
    if not isfinite(number):
        raise _wrong_type(where, _KINDS[float])
    return number


def _wrong_type(where: str, expected: str) -> FactsError:
    return FactsError(
        f"`{where}` is not {expected}; write {expected} there, or use the version of Headgate that wrote the file"
    )
