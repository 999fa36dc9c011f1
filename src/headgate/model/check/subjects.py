"""Checks of the subjects of assignments: whether they can exist, and whether their members count."""

from collections.abc import Iterator

from headgate.model.check.context import CheckContext, Path
from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.parse_rules import SUBJECT_KINDS

_USER = "user"
"""The kind of subject that is no type of the tree."""

_GROUP = "group"
"""The kind of subject whose members are listed, and not assigned."""


def check_subject_types(checking: CheckContext) -> None:
    """Report kinds of subject without a type in the model: no subject of the kind can exist."""
    for path in _lists_of_kinds(checking):
        for kind in SUBJECT_KINDS:
            missing = kind != _USER and kind not in checking.model.types
            if missing and checking.is_written(*path, kind):
                checking.note(DiagnosticCode.KIND_WITHOUT_TYPE, (*path, kind), kind=kind)


def check_member_chains(checking: CheckContext) -> None:
    """Report, as warnings, roles that make a team a member of a team whose members are not nested."""
    members = {type for type, counting in checking.model.members.items() if counting is None and type != _GROUP}
    for name, role in checking.model.roles.items():
        for kind in sorted(role.to & members if role.on & members else ()):
            if checking.is_written("roles", name, "to", kind):
                checking.note(DiagnosticCode.MEMBER_CHAIN, ("roles", name, "to", kind), "", kind, role=name, kind=kind)


def _lists_of_kinds(checking: CheckContext) -> Iterator[Path]:
    model = checking.model
    yield from (("roles", name, "to") for name in model.roles)
    yield ("custom_roles", "to")
    yield from (("assign", index, "to") for index in range(len(model.assign)))
    yield from (("standing", index, "kinds") for index in range(len(model.standing)))
