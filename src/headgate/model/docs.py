"""Generator of documentation pages: of a model with its matrix and rules, of the vocabulary, and of the diagnostics."""

import re
from collections.abc import Collection, Iterator

from headgate.model.describe import (
    condition_suffix,
    describe_alternative,
    describe_creator_role,
    describe_custom_roles,
    describe_relation_role,
    describe_spread,
    format_assign_rule,
    format_membership_requirement,
    join_names,
    kind_words,
    local_action,
    local_verb,
    roles,
    type_words,
)
from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.diagram import draw_propagation
from headgate.model.markdown import table as _table
from headgate.model.model import Model, Role, Type
from headgate.model.vocabulary import Vocabulary

_PLACEHOLDER = re.compile(r"\{\w+\}")


def model_page(model: Model) -> str:
    """Return the model as a page in Markdown."""
    parts = (
        _head, _types, _switches, _roles, _matrix, _members, _spread, _render_derived, _needs, _operations, _verbs, _parameters, _assign, _standing,
        _automatic, _bridges, _discover)  # fmt: skip
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
    yield "Types are written in the model's own words, also in the names of actions. In a model file, write the type of the tree."
    yield ""


def _types(model: Model) -> Iterator[str]:
    yield from ("## Types", "")
    rows = [
        (
            each.word,
            f"`{each.name}`",
            join_names([model.local_name(parent) for parent in each.parents]) if each.parents else "-",
            ", ".join(_list_notes(each)),
        )
        for each in model.types.values()
    ]
    yield from _table(("word in this model", "type of the tree", "parents", "note"), rows)
    declared = [each for each in model.types.values() if each.attributes or each.relations]
    if declared:
        yield from ("Attributes and relations that the model declares besides those of Headgate:", "")
        yield from _table(
            ("type", "attributes", "relations"),
            [(each.word, _code(each.attributes), _code(each.relations)) for each in declared],
        )


def _list_notes(type: Type) -> Iterator[str]:
    if type.implicit:
        yield "created with its parent"
    if type.is_own:
        yield "own type"


def _switches(model: Model) -> Iterator[str]:
    yield from ("## Settings", "")
    if not model.settings:
        yield from ("None.", "")
        return
    rows = [
        (
            f"`{each.name}`",
            type_words(model, each.on),
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
            kind_words(model, each.to) if each.on else "-",
            roles(each.closure - {each.name}, model) if len(each.closure) > 1 else "-",
            condition_suffix(each.when).removeprefix(", while ") or "-",
        )
        for each in model.roles.values()
    ]
    yield from _table(("role", "assigned on", "to", "includes", "counts only while"), rows)
    single = [each.name for each in model.roles.values() if each.single]
    if single:
        yield f"Of {roles(single, model)} there is one holder on a resource: an assignment to another subject takes the role from it."
        yield ""
    if any(each.when for each in model.roles.values()):
        yield from ("The condition of a role is read on the resource where the role is assigned.", "")
    if model.custom_roles:
        yield from (describe_custom_roles(model.custom_roles, model), "")


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
            rows = [(f"`{local_verb(model, verb)}`", *_ticks(columns, f"{types[0]}.{verb}")) for verb in verbs]
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


def _members(model: Model) -> Iterator[str]:
    yield from ("## Members", "")
    if "group" in model.types:
        group = model.local_name("group")
        yield f"- A member of a {group} also has the roles that are assigned to the {group}."
    direct = [model.local_name(each) for each, counting in model.members.items() if counting is None]
    if direct:
        types = " or ".join(direct)
        yield f"- A principal with any role on a {types}, assigned directly or through a group, is a member of that {types},"
        yield f"  and also has the roles that are assigned to the {types}. This is one step: the members of a member are not members."
    for type, counting in model.members.items():
        if counting is not None:
            word = model.local_name(type)
            yield f"- A subject with one of {roles(counting, model)} on a {word} is a member of that {word}, and also has the roles"
            yield f"  that are assigned to the {word}, and to everything of which the {word} is a member, at any depth."
    if model.acting:
        actions = join_names([f"`{local_action(model, each)}`" for each in sorted(model.acting)])
        yield f"- For {actions}: if the caller's token acts in a team, only the roles of that team count, and of those that it is a member of."
    if not (model.members or "group" in model.types):
        yield "None."
    yield ""


def _spread(model: Model) -> Iterator[str]:
    sentences = [
        *(describe_spread(rule, model) for rule in model.spread),
        *(describe_relation_role(rule, model) for rule in model.named_in),
    ]
    yield from ("## How roles spread", "")
    if sentences:
        yield from ("An assignment gives its role on the resource where it is made, and also:", "")
        yield from (f"{number}. {sentence}" for number, sentence in enumerate(sentences, 1))
        yield ""
    if model.lineage:
        yield f"A resource is also below the resources that its relation {_either(model.lineage)} names."
        yield ""
    if any(rule.when for rule in model.spread):
        yield from ("A condition after `while` is read on the resource that the rule reaches.", "")
    yield from _diagram(model)
    yield "Assignments have no other effect, and a role that a rule gives does not spread again."
    yield ""


def _diagram(model: Model) -> Iterator[str]:
    lines = list(draw_propagation(model))
    if lines:
        yield "The diagram shows these sentences by number. A solid arrow goes to everything below as well, a dotted one only to the"
        yield "types at its end; a line without an arrow joins a type to its parent. The roles of a sentence are written once at each type."
        yield from ("", *lines, "")


def _code(names: Collection[str]) -> str:
    return join_names([f"`{each}`" for each in names]) if names else "-"


def _either(names: Collection[str]) -> str:
    return " or ".join(f"`{each}`" for each in names)


def _render_derived(model: Model) -> Iterator[str]:
    yield from ("## Derived access", "")
    if not model.derived:
        yield from ("None.", "")
        return
    for rule in dict.fromkeys(model.derived.values()):
        types = type_words(model, [type for type, each in model.derived.items() if each == rule])
        over, empty = _either(rule.weakest_over), _either(rule.when_empty)
        yield f"- {types}: a principal holds the roles that it holds on every resource that an enabled edge of {over} names, so the weakest decides."
        if empty:
            yield f"  Without an enabled edge, the resources that {empty} names decide; without these, no role is derived."
        else:
            yield "  Without an enabled edge, no role is derived."
    yield from ("", "Roles that spread to these resources count as well.", "")


def _needs(model: Model) -> Iterator[str]:
    yield from ("## Requirements of actions", "")
    if not model.needs:
        yield from ("None.", "")
        return
    yield "A caller must meet one of the alternatives of an action and, if any role gives the action, also hold such a role."
    yield "`self` is the resource itself, `parent` its parent; `self.x` and `parent.x` are the resources that the relation or attribute"
    yield "`x` names, `with.x` those that the call names. `each` allows that there are none."
    yield ""
    rows = [
        (f"`{local_action(model, action)}`", " **or** ".join(describe_alternative(way) for way in ways))
        for action, ways in model.needs.items()
    ]
    yield from _table(("action", "requires"), rows)


def _operations(model: Model) -> Iterator[str]:
    if not model.operations:
        return
    yield from ("## Operations", "")
    yield "The caller of one of these operations needs, in this order, the actions below. What the other operations need is in Headgate's own table."
    yield ""
    for operation, needs in model.operations.items():
        actions = (f"{_either(need.verbs)} on the {need.place.replace('_', ' ')}" for need in needs)
        yield f"- `{operation}`: {', then '.join(actions)}."
    yield ""


def _verbs(model: Model) -> Iterator[str]:
    if model.verbs:
        yield from ("## Own verbs", "", "Verbs that the model adds to those of Headgate:", "")
        rows = [(model.local_name(type), _code(verbs)) for type, verbs in model.verbs.items()]
        yield from _table(("type", "verbs"), rows)


def _parameters(model: Model) -> Iterator[str]:
    if model.parameters:
        yield from (
            "## Parameters",
            "",
            "Parameters that a policy enforcement point of the organization passes with a question:",
            "",
        )
        rows = [(f"`{local_action(model, each)}`", _code(names)) for each, names in model.parameters.items()]
        yield from _table(("action", "parameters"), rows)


def _assign(model: Model) -> Iterator[str]:
    yield from ("## Assign rules", "")
    if not model.assign:
        yield from ("None: no caller can assign a role.", "")
        return
    rows = [format_assign_rule(rule, model) for rule in model.assign]
    yield from _table(("a holder of", "assigns roles", "on", "to", "may", "while"), rows)


def _standing(model: Model) -> Iterator[str]:
    yield from ("## Assignments that count", "")
    yield from (f"- {format_membership_requirement(rule, model)}" for rule in model.standing)
    if not model.standing:
        yield "All."
    yield ""


def _automatic(model: Model) -> Iterator[str]:
    yield from ("## Automatic assignments", "")
    yield from (f"- {describe_creator_role(each, model)}" for each in model.creators)
    if model.newcomer:
        organization = model.local_name("organization")
        yield f"- a user who joins without an invitation is assigned `{model.newcomer}` on the {organization}"
    for scope, given in model.scopes.items():
        places = join_names([f"`{role}` on its {model.local_name(type)}" for type, role in given.items()])
        yield f"- a new {model.local_name('service_principal')} of scope `{scope}` is assigned {places}"
    if not (model.creators or model.newcomer or model.scopes):
        yield "None."
    yield ""


def _bridges(model: Model) -> Iterator[str]:
    yield from ("## Access to resources of other models", "")
    for bridge in model.bridges:
        actions = join_names([f"`{local_action(model, each)}`" for each in sorted(bridge.actions)])
        yield f"- `{bridge.role}` on a resource gives {actions} on the resources that its relation `{bridge.relation}` names, under any model"
    if not model.bridges:
        yield "None."
    yield ""


def _discover(model: Model) -> Iterator[str]:
    yield from ("## Discovery", "")
    allowed = f"`{model.discover}`" if model.discover else "any action"
    yield f"A caller may know that a resource exists if the caller may perform {allowed} on it."
