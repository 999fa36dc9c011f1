"""Lookup of the actions that a model file names: an unknown one is reported, with the action probably meant."""

from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.diagnostics import most_similar
from headgate.model.reader import Reader
from headgate.model.suggestions import for_verb
from headgate.model.vocabulary import Vocabulary
from headgate.model.yaml_parser import ScalarNode

_NEAR_VERB = 0.8
"""The similarity from which a verb counts as a misspelling: `delete` is not meant to be `delete_rows`."""


def find_action(read: Reader, vocabulary: Vocabulary, at: ScalarNode, type: str, verb: str) -> str:
    """Return the action; empty if the type has no such verb, with its verbs in the report."""
    name, verbs = f"{type}.{verb}", [each.partition(".")[2] for each in vocabulary.of(type)]
    if name in vocabulary:
        return name
    near = most_similar(verb, verbs, _NEAR_VERB)
    meant = {name: f"{type}.{near}"} if near else {}
    otherwise = for_verb(vocabulary, type)
    read.report.unknown(DiagnosticCode.UNKNOWN_ACTION, at, name, (), other_words=meant, otherwise=otherwise)
    return ""
