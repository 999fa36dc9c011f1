"""Named lists of words (`lists`): before a file is parsed, each `all NAME` is replaced by the words of the list."""

from collections.abc import Mapping
from dataclasses import replace

from typing_extensions import TypeIs

from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.diagnostics import DiagnosticReport
from headgate.model.reader import Reader
from headgate.model.yaml_parser import ListNode, MapNode, Node, ScalarNode

SECTION = "lists"

_ALL = "all "
_CONDITIONS = frozenset(("when", "when_from"))
"""Keys whose words are conditions, in which no list can be used."""

_SETTINGS = "settings"
"""The section whose values are words of the user, which may begin with `all`."""

_MOST_WORDS = 20_000
"""The most words that the lists of a file may be replaced by: a few lines could otherwise mean millions of words."""

Words = Mapping[str, tuple[ScalarNode, ...]]
"""The words of each list."""


def expand_lists(document: Node, report: DiagnosticReport) -> Node:
    """Return the document without its section `lists`, with each `all NAME` replaced by the words of that list."""
    if not isinstance(document, MapNode):
        return document
    if all(key.value != SECTION for key, _ in document.entries):
        return document
    expansion = _Expansion(_read_lists(document, report), report)
    entries = ((key, value) for key, value in document.entries if key.value != SECTION)
    expanded = ((key, value if key.value == _SETTINGS else expansion.expand(value)) for key, value in entries)
    return replace(document, entries=tuple(expanded))


def _read_lists(document: MapNode, report: DiagnosticReport) -> Words:
    """Return the lists; one may contain those before it."""
    read, lists = Reader(report), dict[str, tuple[ScalarNode, ...]]()
    section = next((value for key, value in document.entries if key.value == SECTION), None)
    for key, value in read.entries(section, "writers: [editor, owner]"):
        words = _Expansion(lists, report).expand(value)
        lists[read.name(key)] = read.non_empty_list({key.value: words}, key.value)
    return lists


def _is_reference(node: Node) -> TypeIs[ScalarNode]:
    """Whether a value is `all NAME`, without quotes."""
    return isinstance(node, ScalarNode) and not node.lead and node.value.startswith(_ALL)


class _Expansion:
    """The replacement of the references in one document."""

    def __init__(self, lists: Words, report: DiagnosticReport) -> None:
        self._lists = lists
        self._report = report
        self._left = _MOST_WORDS

    def expand(self, node: Node) -> Node:
        """Return the node with each reference replaced."""
        if isinstance(node, MapNode):
            return replace(node, entries=tuple((key, self._entry(key, value)) for key, value in node.entries))
        if isinstance(node, ListNode):
            return replace(node, values=self._values(node))
        return node

    def _entry(self, key: ScalarNode, value: Node) -> Node:
        if key.value in _CONDITIONS and not isinstance(value, MapNode):
            return value
        if _is_reference(value):
            return ListNode(self._words(value), value.line, value.column)
        return self.expand(value)

    def _values(self, node: ListNode) -> tuple[Node, ...]:
        """Return the values of a list. A word of several references, or beside them, counts once."""
        found: list[Node] = []
        own = {each.value for each in node.values if isinstance(each, ScalarNode)}
        for each in node.values:
            if not _is_reference(each):
                found.append(self.expand(each))
                continue
            new = [word for word in self._words(each) if word.value not in own]
            own.update(word.value for word in new)
            found.extend(new)
        return tuple(found)

    def _words(self, reference: ScalarNode) -> tuple[ScalarNode, ...]:
        """Return the words of a list, with the place of the reference, so that a diagnostic leads there."""
        name = reference.value.removeprefix(_ALL).strip()
        if name not in self._lists:
            otherwise = "write the words, or define the list in `lists`"
            part = reference.part(len(_ALL), len(reference.value))
            self._report.unknown(DiagnosticCode.UNKNOWN_LIST, part, name, self._lists, otherwise=otherwise)
            return ()
        words = self._lists[name]
        self._left -= len(words)
        if self._left < 0:
            if self._left + len(words) >= 0:
                count, most = str(_MOST_WORDS - self._left), str(_MOST_WORDS)
                self._report.add(DiagnosticCode.TOO_MANY_ENTRIES, reference, key=SECTION, count=count, most=most)
            return ()
        return tuple(replace(reference, value=word.value, lead=0) for word in words)
