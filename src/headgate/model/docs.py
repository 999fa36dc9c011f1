"""Generator of documentation pages: of a model with its matrix and rules, of the vocabulary, and of the diagnostics."""

import re
from collections.abc import Collection, Iterator

from headgate.model.describe import (
    condition_suffix,
    describe_alternative,
    describe_spread,
    format_assign_rule,
    format_membership_requirement,
    join_names,
    roles,
    type_words,
)
from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.markdown import table as _table
from headgate.model.model import Model, Role
from headgate.model.vocabulary import Vocabulary

_PLACEHOLDER = re.compile(r"\{\w+\}")


def model_page(model: Model) -> str:
    """Return the model as a page in Markdown."""
    parts = (_head, _types, _switches, _roles, _matrix, _spread, _render_derived, _needs, _assign, _rest)
    return "\n".join(line for part in parts for line in part(model)).rstrip() + "\n"


def vocabulary_page(actions: Vocabulary) -> str:
    """Return the vocabulary as a page in Markdown: each action, with its names in the models and in Spark."""
    head = (
        "# Actions",
        "",
        "The vocabulary of actions, with the names of each action in the shipped models and in Spark; `-` means that there is no name. Written by `headgate model document actions`.",
        "",
    )
    columns = ("action", *actions.models, "Spark")
    rows = (
        (
            f"`{each.name}`",
            *(join_names(each.names.get(model, ("-",))) for model in actions.models),
            join_names(each.spark or ("-",)),
        )
        for each in actions.values()
    )
    return "\n".join((*head, *_table(columns, rows))) + "\n"


def mistakes_page() -> str:
    """Return the diagnostics of the checker as a page in Markdown: each code, its message, and its meaning."""
    head = (
        "# Diagnostics of `headgate model check`",
        "",
        (
            "Each diagnostic has a code that never changes its meaning. A model with an error cannot be used; one with warnings can. "
            "Written by `headgate model document mistakes`."
        ),
        "",
    )
    rows = [(each.code, each.severity, _PLACEHOLDER.sub("...", each.message), each.meaning) for each in DiagnosticCode]
    return "\n".join((*head, *_table(("code", "severity", "message", "meaning"), rows))) + "\n"


def _head(model: Model) -> Iterator[str]:
    yield f"# The model `{model.name}`"
    yield ""
    yield f"Version {model.version}. Written by `headgate model document {model.name}` from the model file; do not edit this page."
    yield ""


def _types(model: Model) -> Iterator[str]:
    yield from ("## Types", "")
    rows = [
        (
            each.word,
            f"`{each.name}`",
            join_names([model.local_name(parent) for parent in each.parents]) if each.parents else "-",
            "created with its parent" if each.implicit else "",
        )
        for each in model.types.values()
    ]
    yield from _table(("word in this model", "type", "parents", "note"), rows)


def _switches(model: Model) -> Iterator[str]:
    yield from ("## Settings", "")
    if not model.settings:
        yield from ("None.", "")
        return
    rows = [
        (
            f"`{each.name}`",
            model.local_name(each.on),
            join_names([f"`{value}`" for value in each.values]),
            f"`{each.default}`",
        )
        for each in model.settings.values()
    ]
    yield from _table(("setting", "set on", "values", "default"), rows)


def _roles(model: Model) -> Iterator[str]:
    yield from ("## Roles", "")
    rows = [
        (
            f"`{each.name}`",
            type_words(model, each.on) if each.on else "not assigned",
            join_names(sorted(each.to)) if each.on else "-",
            roles(each.closure - {each.name}, model) if len(each.closure) > 1 else "-",
            condition_suffix(each.when).removeprefix(", while ") or "-",
        )
        for each in model.roles.values()
    ]
    yield from _table(("role", "assigned on", "to", "includes", "counts only while"), rows)
    if model.custom_roles:
        custom = model.custom_roles
        yield f"Organizations may define custom roles, composed of {roles(custom.of, model)}, on {type_words(model, custom.on)}{condition_suffix(custom.when)}."
        yield ""


def _matrix(model: Model) -> Iterator[str]:
    """Yield one table for each set of types with the same verbs and the same cells."""
    yield from (
        "## Matrix",
        "",
        "The actions that each role gives on a resource on which it is held, including the actions of its included roles. Some actions have further requirements; see below.",
        "",
    )
    for types, verbs in _group_alike(model):
        columns = _columns(model, types[0])
        if columns:
            yield from (f"### {type_words(model, types)}", "")
            rows = [(f"`{verb}`", *_ticks(columns, f"{types[0]}.{verb}")) for verb in verbs]
            yield from _table(("", *(f"`{each.name}`" for each in columns)), rows)


def _group_alike(model: Model) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    groups: dict[object, list[str]] = {}
    verbs: dict[str, tuple[str, ...]] = {}
    for type in model.types:
        given = [action for action in model.actions_on(type) if model.roles_granting(action)]
        verbs[type] = tuple(action.partition(".")[2] for action in given)
        cells = tuple((verb, model.roles_granting(f"{type}.{verb}")) for verb in verbs[type])
        groups.setdefault(cells, []).append(type)
    yield from ((tuple(types), verbs[types[0]]) for types in groups.values())


def _columns(model: Model, type: str) -> list[Role]:
    """Return the roles that give an action on a type, weakest first."""
    giving = [each for each in model.roles.values() if any(a.partition(".")[0] == type for a in each.actions)]
    return sorted(giving, key=lambda each: (sum(a.partition(".")[0] == type for a in each.actions), len(each.closure)))


def _ticks(columns: Collection[Role], action: str) -> Iterator[str]:
    return ("yes" if action in each.actions else "" for each in columns)


def _spread(model: Model) -> Iterator[str]:
    yield from (
        "## How roles spread",
        "",
        "An assignment gives its role on the resource where it is made, and also:",
        "",
    )
    yield from (f"- {describe_spread(rule, model)}" for rule in model.spread)
    yield from (
        f"- {type_words(model, rule.to)}: the principal that its relation `{rule.relation}` names holds `{rule.role}` on it"
        for rule in model.named_in
    )
    if model.lineage:
        yield f"- a resource also counts as below the resources that its relation {join_names([f'`{each}`' for each in model.lineage])} names"
    yield from ("", "Assignments have no other effect.", "")


def _render_derived(model: Model) -> Iterator[str]:
    yield from ("## Derived access", "")
    if not model.derived:
        yield from ("None.", "")
        return
    for rule in dict.fromkeys(model.derived.values()):
        types = [type for type, each in model.derived.items() if each == rule]
        over, empty = join_names([f"`{r}`" for r in rule.weakest_over]), join_names([f"`{r}`" for r in rule.when_empty])
        yield f"- {type_words(model, types)}: a principal holds exactly the roles that it holds on every resource named by an enabled edge of {over}, so the weakest decides. If there is no such edge, the resources that {empty} names decide; if there are none of these either, the principal holds no role"
    yield ""


def _needs(model: Model) -> Iterator[str]:
    yield from (
        "## Requirements of actions",
        "",
        "A caller must meet one of the alternatives of an action and, if any role gives the action, also hold such a role.",
        "",
    )
    rows = [
        (f"`{action}`", " **or** ".join(describe_alternative(way) for way in ways))
        for action, ways in model.needs.items()
    ]
    yield from _table(("action", "requires"), rows)


def _assign(model: Model) -> Iterator[str]:
    yield from ("## Assign rules", "")
    rows = [format_assign_rule(rule, model) for rule in model.assign]
    yield from _table(("a holder of", "assigns roles", "on", "to", "may", "while"), rows)


def _rest(model: Model) -> Iterator[str]:
    yield from ("## Assignments that count", "")
    yield from (f"- {format_membership_requirement(rule, model)}" for rule in model.standing)
    if not model.standing:
        yield "- all"
    yield from ("", "## Automatic assignments", "")
    yield from (
        f"- {type_words(model, each.types)}: its creator is assigned `{each.role}` on it" for each in model.creators
    )
    if model.newcomer:
        yield f"- a user who joins without an invitation is assigned `{model.newcomer}` on the organization"
    for scope, given in model.scopes.items():
        yield f"- a new service principal of scope `{scope}` is assigned {join_names([f'`{role}` on its {model.local_name(type)}' for type, role in given.items()])}"
    for bridge in model.bridges:
        yield f"- `{bridge.role}` gives {join_names([f'`{a}`' for a in sorted(bridge.actions)])} on the resources that its relation `{bridge.relation}` names, under any model"
    if not (model.creators or model.newcomer or model.scopes or model.bridges):
        yield "- none"
    yield ""
