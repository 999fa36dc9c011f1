"""Parser of the section `operations`, in which a model restates what single operations need."""

from collections.abc import Mapping

from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.diagnostics import choose_from
from headgate.model.model import OperationNeed, is_fixed_verb
from headgate.model.reader import Reader, Value
from headgate.model.suggestions import for_verb, quoted
from headgate.model.vocabulary import Vocabulary
from headgate.model.yaml_parser import ListNode, Node, ScalarNode

_EXAMPLE = "table.rename: [{on: table, verb: drop}, {on: database, verb: 'create_{type}'}]"

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
    verbs = read.non_empty_list(fields, "verb") if isinstance(stated, ListNode) else read.word_or_words(stated)
    for verb in verbs if place else ():
        _check_verb(read, verb, place, own, vocabulary)
    return OperationNeed(place, tuple(verb.value for verb in verbs))


def _check_verb(read: Reader, verb: ScalarNode, place: str, own: Row, vocabulary: Vocabulary) -> None:
    """Report a verb that no resource called `place` has, and a fixed one that the operation does not have there."""
    word = verb.value
    if is_fixed_verb(word):
        fixed = [each for need in own if need.place == place for each in need.verbs if is_fixed_verb(each)]
        if word not in fixed:
            otherwise = choose_from(fixed) or "write a verb of the type alone"
            read.report.add(DiagnosticCode.UNKNOWN_TEXT, verb, otherwise, word=word)
    elif place in vocabulary.types:
        if f"{place}.{word}" not in vocabulary:
            action, verbs = f"{place}.{word}", for_verb(vocabulary, place)
            read.report.unknown(DiagnosticCode.UNKNOWN_ACTION, verb, action, (), otherwise=verbs)
    else:
        verbs = sorted({action.partition(".")[2] for action in vocabulary})
        if word not in verbs:
            read.report.unknown(DiagnosticCode.UNKNOWN_OPERATION_VERB, verb, word, verbs)
