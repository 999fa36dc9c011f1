"""Parser of the section `operations`, in which a model restates what single operations need."""

from collections.abc import Mapping

from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.diagnostics import choose_from
from headgate.model.known_actions import find_action
from headgate.model.model import OperationNeed, is_fixed_verb
from headgate.model.reader import Reader, Value
from headgate.model.suggestions import quoted
from headgate.model.vocabulary import Vocabulary
from headgate.model.yaml_parser import ListNode, Node, ScalarNode

_EXAMPLE = "table.rename: [{on: table, verb: drop}, {on: database, verb: 'create_{type}'}]"

_MOST = 20
"""The most needs of an operation, and the most verbs of a need: the time of a check grows with them."""

Row = tuple[OperationNeed, ...]


def read_operations(read: Reader, value: Value, vocabulary: Vocabulary) -> Mapping[str, Row]:
    """Return the needs that a model restates, by operation.

    Reports what neither the operation's row in `operations.yaml` nor the vocabulary of the model has, a need that every model has
    to keep, and a resource of the operation on which nothing is needed.
    """
    found: dict[str, Row] = {}
    for key, body in read.entries(value, _EXAMPLE):
        for operation in read.known_names((key,), vocabulary.operations, DiagnosticCode.UNKNOWN_OPERATION):
            found[operation] = _read_row(read, key, body, vocabulary)
    return found


def _read_row(read: Reader, operation: ScalarNode, body: Node, vocabulary: Vocabulary) -> Row:
    if isinstance(body, ListNode) and not body.values:
        read.report.add(DiagnosticCode.EMPTY_LIST, body, key=operation.value)
        return ()
    if _has_too_many(read, body, operation.value):
        return ()
    own = vocabulary.operations[operation.value]
    found = tuple(_read_need(read, each, own, vocabulary) for each in read.items(body))
    if not read.report.has_errors:
        _check_kept(read, operation, found, own)
    return found


def _check_kept(read: Reader, operation: ScalarNode, found: Row, own: Row) -> None:
    """Report needs that every model has to keep, and resources of the operation on which nothing is needed."""
    kept = [need for need in own if any(map(is_fixed_verb, need.verbs)) and need not in found]
    for need in kept:
        row = f"{{on: {need.place}, verb: '{need.verbs[0]}'}}"
        read.report.add(DiagnosticCode.NEEDS_KEPT, operation, operation=operation.value, row=row)
    missing = {need.place: None for need in own if need.place not in {each.place for each in (*found, *kept)}}
    if missing:
        words = quoted(missing)
        read.report.add(DiagnosticCode.NEEDS_NO_PLACE, operation, operation=operation.value, places=words)


def _read_need(read: Reader, row: Node, own: Row, vocabulary: Vocabulary) -> OperationNeed:
    fields = read.fields(row, ("on", "verb"))
    places = tuple(dict.fromkeys(need.place for need in own))
    place = read.known_name(fields.get("on"), places, DiagnosticCode.UNKNOWN_OPERATION_PLACE)
    stated = fields.get("verb")
    if _has_too_many(read, stated, "verb"):
        return OperationNeed(place, ())
    verbs = read.non_empty_list(fields, "verb") if isinstance(stated, ListNode) else read.word(stated)
    for verb in verbs if place else ():
        _check_verb(read, verb, place, own, vocabulary)
    return OperationNeed(place, tuple(verb.value for verb in verbs))


def _has_too_many(read: Reader, value: Value, key: str) -> bool:
    """Report a list with more values than a check has time for."""
    count = len(value.values) if isinstance(value, ListNode) else 0
    if value is not None and count > _MOST:
        read.report.add(DiagnosticCode.TOO_MANY_ENTRIES, value, key=key, count=str(count), most=str(_MOST))
    return count > _MOST


def _check_verb(read: Reader, verb: ScalarNode, place: str, own: Row, vocabulary: Vocabulary) -> None:
    """Report a verb that no resource called `place` has, and a fixed one that the operation does not have there."""
    word = verb.value
    if is_fixed_verb(word):
        fixed = [each for need in own if need.place == place for each in need.verbs if is_fixed_verb(each)]
        if word not in fixed:
            otherwise = choose_from(fixed) or "write a verb of the type alone"
            read.report.add(DiagnosticCode.UNKNOWN_TEXT, verb, otherwise, word=word)
    elif place in vocabulary.types:
        find_action(read, vocabulary, verb, place, word)
    else:
        verbs = sorted({action.partition(".")[2] for action in vocabulary})
        if word not in verbs:
            read.report.unknown(DiagnosticCode.UNKNOWN_OPERATION_VERB, verb, word, verbs)
