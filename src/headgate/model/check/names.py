"""Checks of names in conditions and rules: the attributes, relations and parameters must be declared."""

from collections.abc import Collection, Iterator

from headgate.model.check.context import CheckContext, Path, either_of
from headgate.model.declared_names import CREATOR, DeclaredNames, Names, names_of
from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.diagnostics import most_similar
from headgate.model.model import RequiredRole
from headgate.model.role_reach import Types
from headgate.model.vocabulary import ASSIGNMENT

_SHOWN = 5
"""The largest number of types, actions or names that a message lists."""


def check_conditions(checking: CheckContext) -> None:
    """Report conditions on attributes and parameters that nothing declares."""
    names = _declared(checking)
    for path, when, types in checking.conditions():
        for index, term in enumerate(when):
            at: Path = (*path, index)
            if term.root in ("self", "parent"):
                places = _places(checking, term.root, types)
                _check_name(
                    checking, DiagnosticCode.UNKNOWN_ATTRIBUTE, at, term.root, term.name, names.attributes, places
                )
            elif term.root == "with":
                _check_word(checking, names, at, term.name, _actions_at(checking, path, types))


def check_required(checking: CheckContext) -> None:
    """Report relations and parameters in `needs` and in assign rules that nothing declares."""
    names, model = _declared(checking), checking.model
    for action, alternatives in model.needs.items():
        for index, alternative in enumerate(alternatives):
            if alternative.each:
                path = ("needs", action, index, "each")
                _check_word(checking, names, path, alternative.each, (action,))
            for needed in alternative.roles:
                types = Types((action.partition(".")[0],))
                _check_place(checking, names, ("needs", action, index, "roles"), needed, types, (action,))
    for index, rule in enumerate(model.assign):
        for needed in rule.needs:
            _check_place(checking, names, ("assign", index, "needs"), needed, rule.on, _assigning(rule.verbs))


def check_relations(checking: CheckContext) -> None:
    """Report relations of rules that nothing declares for the types that the rule is about."""
    names = _declared(checking)
    for path, relation, types in _relations(checking):
        if not (relation == CREATOR and path[0] == "named_in"):
            _check_name(checking, DiagnosticCode.UNKNOWN_RELATION, path, "", relation, names.relations, types)


def _declared(checking: CheckContext) -> DeclaredNames:
    return checking.vocabulary.names.of_model(checking.model)


def _relations(checking: CheckContext) -> Iterator[tuple[Path, str, Types]]:
    """Yield each relation that a rule follows, with the types of the resources of which one must have it."""
    model, every = checking.model, Types(checking.model.types)
    yield from ((("lineage", name), name, every) for name in model.lineage)
    for index, rule in enumerate(model.spread):
        if rule.along:
            yield ("spread", index, "along", rule.along), rule.along, rule.to or every
    for index, named in enumerate(model.named_in):
        yield ("named_in", index, "relation", named.relation), named.relation, named.to
    for index, bridge in enumerate(model.bridges):
        yield ("bridges", index, "relation", bridge.relation), bridge.relation, checking.reach.held[bridge.role]
    rows = {type: _row_of(checking, type) for type in model.derived}
    for type, rule in model.derived.items():
        index, types = rows[type], Types(each for each in rows if rows[each] == rows[type])
        for key, relations in (("weakest_over", rule.weakest_over), ("when_empty", rule.when_empty)):
            yield from ((("derived", index, key, name), name, types) for name in relations)


def _row_of(checking: CheckContext, derived: str) -> int:
    """Return the index of the rule of `derived` for a type; the rules have at least one type each."""
    rows = range(len(checking.model.derived))
    return next((index for index in rows if checking.is_written("derived", index, "types", derived)), 0)


def _check_place(
    checking: CheckContext,
    names: DeclaredNames,
    path: Path,
    needed: RequiredRole,
    types: Types,
    actions: tuple[str, ...],
) -> None:
    if needed.relation is None:
        return
    at = (*path, f"{'each ' if needed.optional else ''}{needed.root}.{needed.relation}")
    if needed.root == "with":
        resources = {action: names.resources_of(action) for action in actions}
        mistake = DiagnosticCode.UNKNOWN_PARAMETER
        _check_name(checking, mistake, at, "with", needed.relation, resources, actions, "resource")
    else:
        places = _places(checking, needed.root, types)
        _check_name(
            checking, DiagnosticCode.UNKNOWN_RELATION, at, needed.root, needed.relation, names.relations, places
        )


def _check_word(checking: CheckContext, names: DeclaredNames, path: Path, name: str, actions: tuple[str, ...]) -> None:
    """Report a parameter that no action passes as a word."""
    words = {action: names.words_of(action) for action in actions}
    _check_name(checking, DiagnosticCode.UNKNOWN_PARAMETER, path, "with", name, words, actions)


def _check_name(
    checking: CheckContext,
    mistake: DiagnosticCode,
    path: Path,
    root: str,
    name: str,
    declared: Names,
    owners: Collection[str],
    sort: str = "word",
) -> None:
    """Report a name that is declared for none of its owners: types, or actions. `sort` is that of a parameter."""
    known = sorted(names_of(declared, owners))
    if name in known:
        return
    prefix = f"{root}." if root else ""
    near = most_similar(name, known)
    listed = either_of(f"{prefix}{each}" for each in known[:_SHOWN])
    choose = f"write {listed}, or declare" if known else "declare"
    key = "`parameters`" if root == "with" else f"`{_KEYS[mistake]}` of a type"
    suggestion = f"did you mean `{prefix}{near}`?" if near else f"{choose} a name of your own in {key}"
    checking.note(mistake, path, suggestion, word=f"{prefix}{name}", owners=_summary(owners), sort=sort)


_KEYS = {DiagnosticCode.UNKNOWN_ATTRIBUTE: "attributes", DiagnosticCode.UNKNOWN_RELATION: "relations"}


def _summary(owners: Collection[str]) -> str:
    more = len(owners) - _SHOWN
    return either_of(owners) if more <= 0 else f"{either_of(sorted(owners)[:_SHOWN])} or {more} more"


def _places(checking: CheckContext, root: str, types: Types) -> Types:
    """Return the types of the resource, or of its parent; all types if the rule is about none."""
    every = types or Types(checking.model.types)
    if root == "self":
        return every
    known = checking.model.types
    return Types(parent for type in every if type in known for parent in known[type].parents)


def _assigning(verbs: Collection[str]) -> tuple[str, ...]:
    return tuple(f"{ASSIGNMENT}.{verb}" for verb in sorted(verbs))


def _actions_at(checking: CheckContext, path: Path, types: Types) -> tuple[str, ...]:
    """Return the actions with whose questions a condition is evaluated."""
    section, key = path[0], path[1]
    if section == "needs":
        return (str(key),)
    if section == "assign" and isinstance(key, int):
        return _assigning(checking.model.assign[key].verbs)
    every = types or Types(checking.model.types)
    return tuple(action for type in sorted(every) for action in checking.vocabulary.of(type))
