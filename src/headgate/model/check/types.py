"""Checks of the types, the settings, and the conditions on settings."""

from collections.abc import Iterable

from headgate.model.check.context import CheckContext, Path, either_of
from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.model import SETTING_ROOTS, Condition, When
from headgate.model.role_reach import Types


def check_types(checking: CheckContext) -> None:
    """Report types without a path to a root, implicit types that would be created without end, and shared words."""
    types, above = checking.model.types, checking.reach.above
    ring = Types()
    for name, type in types.items():
        if name in above[name] - ring and not any(_root(checking, each) for each in above[name]):
            ring |= {each for each in above[name] if name in above[each]}
            checking.note(DiagnosticCode.NO_ROOT, ("types", name), type=name)
        if type.implicit and not types.keys() & set(type.parents):
            checking.note(DiagnosticCode.IMPLICIT_ROOT, ("types", name, "implicit"), type=name)
        if type.implicit and name in _implicit_above(checking, name):
            checking.note(DiagnosticCode.ENDLESS, ("types", name, "implicit"), "", "endless", type=name)
        other = next(each.name for each in types.values() if each.word == type.word)
        if other != name:
            key = () if type.word == name else ("as",)
            checking.note(DiagnosticCode.SAME_WORD, ("types", name, *key), type=name, other=other, word=type.word)


def check_settings(checking: CheckContext) -> None:
    """Report settings with one value only, and settings that no condition uses."""
    asked = {term.name for _, when, _ in checking.conditions() for term in when if term.root in SETTING_ROOTS}
    for name, setting in checking.model.settings.items():
        if len(setting.values) == 1:
            checking.note(DiagnosticCode.ONE_VALUE, ("settings", name, "values"), setting=name)
        elif name not in asked:
            checking.note(DiagnosticCode.UNUSED_SETTING, ("settings", name), setting=name)


def check_whens(checking: CheckContext) -> None:
    """Report conditions that always or never hold, or whose setting is not set above the types they concern."""
    for path, when, types in checking.conditions():
        _check_named(checking, path, when)
        for root, name in dict.fromkeys((term.root, term.name) for term in when if term.root in SETTING_ROOTS):
            terms = [term for term in when if (term.root, term.name) == (root, name)]
            # Two conditions with `any` may be about different resources.
            for each in [[term] for term in terms] if root.startswith("any") else [terms]:
                _check_setting(checking, path, name, each, types)


def _root(checking: CheckContext, name: str) -> bool:
    parents = checking.model.types[name].parents
    return not parents or not checking.model.types.keys() >= set(parents)


def _implicit_above(checking: CheckContext, name: str) -> set[str]:
    types = checking.model.types
    seen: set[str] = set()
    todo = [name]
    while todo:
        parents = [each for each in types[todo.pop()].parents if each in types and types[each].implicit]
        todo.extend(each for each in parents if each not in seen)
        seen.update(parents)
    return seen


def _check_named(checking: CheckContext, path: Path, when: When) -> None:
    for term in when:
        if term.root == "named" and Condition("named", term.name, (), not term.negated) in when:
            checking.note(DiagnosticCode.NEVER_HOLDS, path, what=f"`{term.name}` and `not {term.name}`")


def _check_setting(checking: CheckContext, path: Path, name: str, terms: Iterable[Condition], types: Types) -> None:
    setting = checking.model.settings[name]
    left = set(setting.values)
    for term in terms:
        left = left - set(term.values) if term.negated else left & set(term.values)
    if not left:
        checking.note(DiagnosticCode.NEVER_HOLDS, path, what=f"the conditions on `setting.{name}`")
    if left == set(setting.values):
        checking.note(DiagnosticCode.ALWAYS_HOLDS, path, setting=name)
    if types and not types & Types(setting.on).union(*(checking.reach.below[type] for type in setting.on)):
        on = "` or `".join(setting.on)
        checking.note(DiagnosticCode.SETTING_ELSEWHERE, path, setting=name, on=on, types=either_of(types))
