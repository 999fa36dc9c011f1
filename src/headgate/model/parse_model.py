"""Parser from a YAML document with positions to a model in which every section, key and name exists.

An unknown name is reported and left out, so that one slip is one diagnostic. `check` examines whether the rules are
consistent with each other.
"""

from collections.abc import Collection, Iterator, Mapping

from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.diagnostics import DiagnosticReport
from headgate.model.language_versions import NEWEST
from headgate.model.model import Model, Setting, Type
from headgate.model.parse_rules import RuleParser
from headgate.model.reader import Reader, Value
from headgate.model.suggestions import for_type
from headgate.model.vocabulary import ASSIGNMENT, Vocabulary
from headgate.model.yaml_parser import START, ListNode, MapNode, Node, ScalarNode

DEPLOYMENT = "deployment"
"""The type above every organization; a model lists it only if it has actions or roles there."""

_EXAMPLES = {
    "types": "table: {under: [database]}",
    "roles": "reader: {on: [table]}",
    "settings": "plan: {on: organization, values: [small, large], default: small}",
}
"""The content of an entry of each section that must be a mapping with entries."""

MOST_ENTRIES = {"roles": 500, "settings": 200}
"""The most entries of a section: the time of a check grows with the square of their number."""

_RESERVED = frozenset(("user", ASSIGNMENT, "self", "parent", "setting", "with"))
"""Words that no own type can be named: they have another meaning in the same places."""

_MOST_VERBS = 2_000
"""The most verbs of the section `verbs`, counted for each type: every question about an unknown action reads them."""

_REQUIRED = ("model", "version", "types", "roles", "assign")
_OPTIONAL = (
    "settings", "custom_roles", "lineage", "spread", "named_in", "derived", "needs", "standing", "creators",
    "newcomer", "discover", "bridges", "members", "scopes", "parameters", "language", "verbs", "lists", "acting",
    "operations",
)  # fmt: skip


def read_language(document: Node, report: DiagnosticReport) -> None:
    """Set the language version of the report to that which the file names, if it names one."""
    values = {key.value: value for key, value in document.entries} if isinstance(document, MapNode) else {}
    value = values.get("language")
    if value is None:
        return
    version = Reader(report).number(value)
    if version > NEWEST:
        report.add(DiagnosticCode.UNKNOWN_LANGUAGE, value, word=str(version), newest=str(NEWEST))
    report.language = version or report.language


def read_model(
    document: Node, read: Reader, vocabulary: Vocabulary, conditions: Collection[str], hash: str
) -> Model | None:
    """Return the model; None, with the reason in the report, if types, roles or settings are missing or empty."""
    parts = read.fields(document, _REQUIRED, _OPTIONAL)
    definitions = ("types", "roles", "settings") if "settings" in parts else ("types", "roles")
    stated = [_is_stated(read, parts, section) for section in definitions]
    if not all(stated) or _has_too_many(read, parts):
        return None
    types = dict(_types(read, parts["types"], vocabulary))
    settings = dict(_settings(read, parts.get("settings"), types))
    roles = tuple(key.value for key, _ in read.entries(parts["roles"]))
    verbs = _verbs(read, parts.get("verbs"), types, vocabulary)
    own = vocabulary.extend(types, settings, verbs)
    return RuleParser(read, parts, own, conditions, types, settings, verbs, roles).parse(hash)


def _has_too_many(read: Reader, parts: Mapping[str, Node]) -> bool:
    """Report a section with more entries than the check of a file has time for."""
    counts = {key: len(read.entries(parts[key])) for key in MOST_ENTRIES if key in parts}
    too_many = [key for key, count in counts.items() if count > MOST_ENTRIES[key]]
    for key in too_many:
        count, most = str(counts[key]), str(MOST_ENTRIES[key])
        read.report.add(DiagnosticCode.TOO_MANY_ENTRIES, parts[key], key=key, count=count, most=most)
    return bool(too_many)


def _is_stated(read: Reader, parts: Mapping[str, Node], section: str) -> bool:
    value = parts.get(section)
    if isinstance(value, MapNode) and not value.entries:
        read.report.add(DiagnosticCode.EMPTY_LIST, value, key=section)
    return bool(read.entries(value, _EXAMPLES[section]))


def _types(read: Reader, value: Node, vocabulary: Vocabulary) -> Iterator[tuple[str, Type]]:
    stated = [_parse_stated_type(read, key, body, vocabulary) for key, body in read.entries(value)]
    for name, (key, body) in zip(stated, read.entries(value), strict=True):
        if not name:
            continue
        fields = read.fields(body, ("under",), ("as", "implicit", "attributes", "relations", "own"))
        above = (*stated, DEPLOYMENT)
        parents = read.known_names(
            read.words(fields.get("under")), above, DiagnosticCode.UNKNOWN_TYPE, otherwise=for_type(vocabulary, above)
        )
        word = read.name(fields.get("as")) or key.value
        attributes, relations = (
            tuple(read.name(each) for each in read.words(fields.get(key))) for key in ("attributes", "relations")
        )
        is_implicit, is_own = (read.flag(fields.get(key)) for key in ("implicit", "own"))
        yield (
            name,
            Type(name, word, parents, is_implicit, attributes, relations, is_own and name not in vocabulary.types),
        )


def _parse_stated_type(read: Reader, key: ScalarNode, body: Node, vocabulary: Vocabulary) -> str:
    """Return the type; for an unknown one that is no own type, the type probably meant, so that one slip is one diagnostic."""
    types = vocabulary.types
    is_own = isinstance(body, MapNode) and any(name.value == "own" for name, _ in body.entries)
    if key.value in types and is_own:
        read.report.add(DiagnosticCode.OWN_TYPE_EXISTS, key, type=key.value)
    if is_own and key.value in _RESERVED:
        read.report.add(DiagnosticCode.RESERVED, key, word=key.value)
    if key.value in types or is_own:
        return key.value if key.value in types else read.name(key)
    otherwise = for_type(vocabulary, types)(key.value)
    return read.report.unknown(DiagnosticCode.UNKNOWN_TYPE, key, key.value, types, otherwise=otherwise)


def _verbs(read: Reader, value: Value, types: Collection[str], vocabulary: Vocabulary) -> Mapping[str, tuple[str, ...]]:
    """Return the verbs that the model adds, by type. Several keys may name the same type."""
    found: dict[str, tuple[str, ...]] = {}
    entries = read.entries(value, "table: [tag]")
    count = sum(len(key.split(",")) * len(read.items(words)) for key, words in entries)
    if count > _MOST_VERBS:
        most = str(_MOST_VERBS)
        read.report.add(DiagnosticCode.TOO_MANY_ENTRIES, value or START, key="verbs", count=str(count), most=most)
        return found
    for key, words in entries:
        verbs = {word.value: word for word in read.non_empty_list({key.value: words}, key.value) if read.name(word)}
        for type in read.known_names(read.name_list(key), types, DiagnosticCode.UNKNOWN_TYPE):
            for verb, word in verbs.items():
                action = f"{type}.{verb}"
                if action in vocabulary:
                    read.report.add(DiagnosticCode.OWN_VERB_EXISTS, word, action=action, verb=verb)
                if verb in found.get(type, ()):
                    read.report.add(DiagnosticCode.WORD_TWICE, word, word=action)
            found[type] = (*found.get(type, ()), *verbs)
    return found


def _settings(read: Reader, value: Value, types: Collection[str]) -> Iterator[tuple[str, Setting]]:
    for key, body in read.entries(value):
        fields = read.fields(body, ("on", "values", "default"))
        stated = fields.get("on")
        places = read.non_empty_list(fields, "on") if isinstance(stated, ListNode) else read.word(stated)
        on = read.known_names(places, types, DiagnosticCode.UNKNOWN_TYPE)
        values = tuple(word.value for word in read.non_empty_list(fields, "values"))
        default = read.known_name(fields.get("default"), values, DiagnosticCode.UNKNOWN_VALUE) if values else ""
        yield read.name(key), Setting(key.value, on, values, default)
