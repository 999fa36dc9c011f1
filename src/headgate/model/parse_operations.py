"""Parser of the section `operations`, in which a model restates what single operations need."""

import re
from collections.abc import Mapping

from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.diagnostics import choose_from
from headgate.model.model import OperationNeed
from headgate.model.reader import Reader, Value
from headgate.model.suggestions import for_verb, quoted
from headgate.model.vocabulary import Vocabulary
from headgate.model.yaml_parser import ListNode, Node, ScalarNode

_WORD = re.compile(r"\{(\w+)\}")
_EXAMPLE = "table.rename: [{on: table, verb: drop}, {on: database, verb: create_table}]"


def read_operations(read: Reader, value: Value, vocabulary: Vocabulary) -> Mapping[str, tuple[OperationNeed, ...]]:
    """Return the needs that a model restates, by operation.

    Reports what neither the operation's row in `operations.yaml` nor the vocabulary of the model has, and a resource of the
    operation on which nothing is needed.
    """
    found: dict[str, tuple[OperationNeed, ...]] = {}
    for key, body in read.entries(value, _EXAMPLE):
        for operation in read.known_names((key,), vocabulary.operations, DiagnosticCode.UNKNOWN_OPERATION):
            found[operation] = _read_row(read, key, body, vocabulary)
    return found


def _read_row(read: Reader, operation: ScalarNode, body: Node, vocabulary: Vocabulary) -> tuple[OperationNeed, ...]:
    if isinstance(body, ListNode) and not body.values:
        read.report.add(DiagnosticCode.EMPTY_LIST, body, key=operation.value)
        return ()
    own = vocabulary.operations[operation.value]
    places = tuple(dict.fromkeys(need.place for need in own))
    found = tuple(_read_need(read, each, own, vocabulary) for each in read.items(body))
    missing = [place for place in places if place not in {need.place for need in found}]
    if missing and not read.report.has_errors:
        words = quoted(missing)
        read.report.add(DiagnosticCode.NEEDS_NO_PLACE, operation, operation=operation.value, places=words)
    return found


def _read_need(read: Reader, row: Node, own: tuple[OperationNeed, ...], vocabulary: Vocabulary) -> OperationNeed:
    fields = read.fields(row, ("on", "verb"))
    places = tuple(dict.fromkeys(need.place for need in own))
    place = read.known_name(fields.get("on"), places, DiagnosticCode.UNKNOWN_OPERATION_PLACE)
    verbs = read.word_or_words(fields.get("verb"))
    for verb in verbs if place else ():
        _check_verb(read, verb, place, own, vocabulary)
    return OperationNeed(place, tuple(verb.value for verb in verbs))


def _check_verb(
    read: Reader, verb: ScalarNode, place: str, own: tuple[OperationNeed, ...], vocabulary: Vocabulary
) -> None:
    """Report a verb that no resource called `place` has, and a text in braces that the operation does not have."""
    word = verb.value
    stated = [each for need in own for each in need.verbs if _WORD.search(each)]
    texts = {text for each in stated for text in _WORD.findall(each)}
    if "{" in word or "}" in word:
        if not set(_WORD.findall(word)) <= texts or set(_WORD.sub("", word)) & set("{}"):
            read.report.add(DiagnosticCode.UNKNOWN_TEXT, verb, choose_from(stated), word=word)
    elif "." in word:
        if word not in vocabulary or (place in vocabulary.types and place not in vocabulary[word].on):
            read.report.unknown(DiagnosticCode.UNKNOWN_ACTION, verb, word, (), otherwise="write the verb alone")
    elif place in vocabulary.types:
        if f"{place}.{word}" not in vocabulary:
            action, verbs = f"{place}.{word}", for_verb(vocabulary, place)
            read.report.unknown(DiagnosticCode.UNKNOWN_ACTION, verb, action, (), otherwise=verbs)
    else:
        verbs = sorted({action.partition(".")[2] for action in vocabulary})
        if word not in verbs:
            read.report.unknown(DiagnosticCode.UNKNOWN_OPERATION_VERB, verb, word, verbs)
