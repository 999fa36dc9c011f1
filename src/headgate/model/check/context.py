"""Context of the checks: the model, the document it was parsed from, and the report of mistakes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.diagnostics import DiagnosticReport
from headgate.model.model import Model, When
from headgate.model.role_reach import RoleReach, Types
from headgate.model.vocabulary import Vocabulary
from headgate.model.yaml_parser import Node, ScalarNode, find

Path = tuple[str | int, ...]
"""A path in the document: keys, list indexes, words in lists."""


@dataclass(frozen=True, slots=True)
class CheckContext:
    """The input of a check, and the report for its findings."""

    model: Model
    document: Node
    vocabulary: Vocabulary
    report: DiagnosticReport
    reach: RoleReach

    def note(self, mistake: DiagnosticCode, path: Path, suggestion: str = "", about: str = "", /, **words: str) -> None:
        """Report a mistake at a path of the document; for the arguments see `DiagnosticReport.add`."""
        self.report.add(mistake, find(self.document, *path), suggestion, about, **words)

    def is_written(self, *path: str | int) -> bool:
        """Whether the document has the word at the end of the path."""
        found = find(self.document, *path)
        return isinstance(found, ScalarNode) and found.value == path[-1]

    def conditions(self) -> Iterator[tuple[Path, When, Types]]:
        """Yield the path of every `when`, its conditions, and the types of the resources for which it is evaluated."""
        model = self.model
        for name, role in model.roles.items():
            yield ("roles", name, "when"), role.when, role.on
        if model.custom_roles:
            yield ("custom_roles", "when"), model.custom_roles.when, model.custom_roles.on
        for index, rule in enumerate(model.spread):
            origins = rule.origin & frozenset(model.types)
            yield ("spread", index, "when"), rule.when, self.reach.targets(rule, origins)
            yield ("spread", index, "when_from"), rule.when_from, origins
        for action, alternatives in model.needs.items():
            for index, alternative in enumerate(alternatives):
                yield ("needs", action, index, "when"), alternative.when, Types((action.partition(".")[0],))
        for index, row in enumerate(model.assign):
            yield ("assign", index, "when"), row.when, row.on


def either_of(names: Iterable[str]) -> str:
    """Return names as written in a message: `a`, `b` or `c`."""
    quoted = [f"`{name}`" for name in sorted(names)]
    return " or ".join([", ".join(quoted[:-1]), quoted[-1]]) if len(quoted) > 1 else "".join(quoted)
