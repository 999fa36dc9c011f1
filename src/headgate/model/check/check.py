"""Checks whether the rules of a model are consistent. Larger than the evaluator, they run before a model is used."""

from collections.abc import Callable

from headgate.model.check.context import CheckContext
from headgate.model.check.names import check_conditions, check_relations, check_required
from headgate.model.check.roles import check_held, check_includes, check_role_count, check_single
from headgate.model.check.rules import (
    check_derived,
    check_holders,
    check_kinds,
    check_members,
    check_needs,
    check_places,
    check_repeated,
    check_same,
    check_spread,
)
from headgate.model.check.subjects import check_member_chains, check_subject_types
from headgate.model.check.types import check_settings, check_types, check_whens
from headgate.model.check.whole_model import (
    check_actions,
    check_assignable,
    check_discover,
    check_operations,
    check_raising,
)
from headgate.model.diagnostics import DiagnosticReport
from headgate.model.model import Model
from headgate.model.role_reach import compute_role_reach
from headgate.model.vocabulary import Vocabulary
from headgate.model.yaml_parser import Node

_STAGES: tuple[tuple[Callable[[CheckContext], None], ...], ...] = (
    (check_types, check_includes, check_settings, check_subject_types),
    (check_whens, check_repeated, check_places, check_kinds),
    (check_spread, check_derived, check_conditions, check_required, check_relations),
    (check_held, check_members),
    (check_needs, check_holders, check_same),
    (check_role_count, check_single, check_assignable, check_discover),
    (check_operations,),
    (check_actions, check_raising, check_member_chains),
)
"""Checks by stage. A mistake of one stage would be found again by later stages, with other messages and places."""


def check(model: Model, document: Node, vocabulary: Vocabulary, report: DiagnosticReport) -> None:
    """Report the mistakes of a model parsed from the document; a stage runs only if those before found no error."""
    checking = CheckContext(model, document, vocabulary, report, compute_role_reach(model))
    for stage in _STAGES:
        for each in stage:
            each(checking)
        if report.has_errors:
            return
