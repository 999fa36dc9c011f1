"""The file of a world as values with positions, and the mistakes in it."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from headgate.conformance.errors import ScenarioError
from headgate.model.diagnostics import DiagnosticReport, Mark, ModelError, choose_from, most_similar
from headgate.model.yaml_parser import START, ListNode, MapNode, Node, ScalarNode, parse_yaml

_NO_VALUE = ("", "null", "~")
"""The words by which a file states that a key has no value."""

SECTIONS = ("system", "settings", "users", "groups", "principals", "grants", "resources")
"""The keys of a world."""

TREE = ("groups", "principals", "resources")
"""The sections with entries of the tree: they share one form."""


@dataclass(frozen=True, slots=True)
class WorldEntry:
    """An entry of a section: its keys and values with their positions; a key without a value is not in `values`."""

    node: Node
    keys: Mapping[str, ScalarNode] = field(default_factory=dict[str, ScalarNode])
    values: Mapping[str, Node] = field(default_factory=dict[str, Node])

    def word(self, key: str) -> ScalarNode | None:
        """Return the single word of a key; None if the key has none."""
        value = self.values.get(key)
        return value if isinstance(value, ScalarNode) else None

    def text(self, key: str) -> str:
        """Return the single word of a key as a string; empty if the key has none."""
        found = self.word(key)
        return found.value if found else ""

    def words(self, key: str) -> tuple[ScalarNode, ...]:
        """Return the words of a key: one, or those of a list."""
        value = self.values.get(key)
        items = value.values if isinstance(value, ListNode) else (value,)
        return tuple(each for each in items if isinstance(each, ScalarNode))


class WorldMistakes:
    """Collects the mistakes of a world's file."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._found: list[tuple[int, int, str]] = []

    def add(self, at: Mark, text: str) -> None:
        """Add a mistake at its place."""
        self._found.append((at.line, at.column, text))

    def unknown(self, at: ScalarNode, what: str, names: Collection[str], otherwise: str = "") -> None:
        """Add an unknown name, with the name probably meant, or else what to do, or else the names that exist."""
        near = most_similar(at.value, names)
        listed = otherwise or choose_from(sorted(names)) or "remove it"
        self.add(at, f"{what}; {f'did you mean `{near}`?' if near else listed}")

    def raise_if_any(self) -> None:
        """Raise `ScenarioError` with all mistakes, in the order of the file, if there are any."""
        if self._found:
            lines = [f"{self._file}:{line}:{column}: {text}" for line, column, text in sorted(set(self._found))]
            raise ScenarioError("\n".join(lines))


def read_document(text: str, file: str, mistakes: WorldMistakes) -> WorldEntry:
    """Return the sections of a file. Raises `ModelError` if the file is not plain YAML."""
    report = DiagnosticReport(file)
    document = parse_yaml(text, report)
    if report.has_errors:
        raise ModelError(report.diagnostics())
    return read_entry(document or START, mistakes)


def read_entry(node: Node, mistakes: WorldMistakes) -> WorldEntry:
    """Return a mapping as an entry; anything else is a mistake, and an entry without keys."""
    if not isinstance(node, MapNode):
        mistakes.add(node, "a mapping is needed here; write the keys in braces, such as `{id: ada}`")
        return WorldEntry(node)
    keys = {key.value: key for key, _ in node.entries}
    values = {key.value: value for key, value in node.entries if not _is_empty(value)}
    return WorldEntry(node, keys, values)


def read_entries(document: WorldEntry, section: str, mistakes: WorldMistakes) -> Iterator[WorldEntry]:
    """Yield the entries of a section."""
    value = document.values.get(section)
    if value is not None and not isinstance(value, ListNode):
        mistakes.add(value, f"`{section}` needs a list; write each entry in brackets, such as `[{{id: ada}}]`")
    for each in value.values if isinstance(value, ListNode) else ():
        yield read_entry(each, mistakes)


def _is_empty(value: Node) -> bool:
    return isinstance(value, ScalarNode) and not value.lead and value.value in _NO_VALUE
