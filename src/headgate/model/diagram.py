"""Mermaid diagram of a model's propagation: types are nodes, arrows are labelled with roles.

Types that every rule treats alike share a node. The numbers in the labels are those of the sentences on the page.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from headgate.model.model import Model, PropagationRule

_MOST_ROLES = 4
"""The largest number of roles in one label; a longer list ends with the number of the others."""

_WORDS_IN_A_LINE = 4

_DOWN, _ELSEWHERE = "-->", "-.->"
"""An arrow to a child, from which the role also goes on below; and an arrow to exactly the types at its end."""

_ANY = "any resource"


@dataclass(frozen=True, slots=True)
class _Arrow:
    """An arrow between two types, or from a text that is no type to a type."""

    start: str
    end: str
    form: str
    label: str


def draw_propagation(model: Model) -> Iterator[str]:
    """Yield the lines of the diagram; none if no rule gives a role elsewhere."""
    arrows = list(_arrows(model))
    if not arrows:
        return
    nodes = _nodes(model, arrows)
    ids = {name: f"n{index}" for index, name in enumerate(dict.fromkeys(nodes.values()))}
    yield from ("```mermaid", "flowchart TD")
    yield from (f'    {id}["{_wrapped(name.split(", "))}"]' for name, id in ids.items())
    merged: dict[tuple[str, str, str], list[str]] = {}
    for arrow in arrows:
        labels = merged.setdefault((ids[nodes[arrow.start]], arrow.form, ids[nodes[arrow.end]]), [])
        if arrow.label not in labels:
            labels.append(arrow.label)
    yield from (f'    {start} {form}|"{"<br>".join(text)}"| {end}' for (start, form, end), text in merged.items())
    joined = {(start, end) for start, form, end in merged if form == _DOWN}
    yield from (f"    {start} --- {end}" for start, end in _tree_lines(model, nodes, ids) if (start, end) not in joined)
    yield "```"


def _nodes(model: Model, arrows: Collection[_Arrow]) -> Mapping[str, str]:
    """Return the name of the node of each start and end of an arrow: the words of all types that the rules treat alike."""
    roles: dict[str, set[object]] = {}
    for arrow in arrows:
        if arrow.form == _ELSEWHERE or arrow.start not in model.types:
            roles.setdefault(arrow.end, set()).add(("to", arrow.label))
        roles.setdefault(arrow.start, set()).add(("from", arrow.label))
        roles.setdefault(arrow.end, set())
    for index, rule in enumerate(model.spread):
        for type in _below(model, rule.origin) if _goes_down(rule) else ():
            roles.setdefault(type, set()).add(("below", index))
    groups: dict[object, list[str]] = {}
    for name in (
        *(each for each in model.types if each in roles),
        *(each for each in roles if each not in model.types),
    ):
        groups.setdefault(frozenset(roles[name]) if name in model.types else name, []).append(name)
    return {name: ", ".join(map(model.local_name, names)) for names in groups.values() for name in names}


def _tree_lines(model: Model, nodes: Mapping[str, str], ids: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the lines from parents to children between two different nodes."""
    lines = (
        (ids[nodes[parent]], ids[nodes[type.name]])
        for type in model.types.values()
        for parent in type.parents
        if parent in nodes and type.name in nodes
    )
    yield from dict.fromkeys(line for line in lines if line[0] != line[1])


def _arrows(model: Model) -> Iterator[_Arrow]:
    for number, rule in enumerate(model.spread, 1):
        yield from _of_rule(model, rule, _label(model, number, rule))
    for number, named in enumerate(model.named_in, len(model.spread) + 1):
        start = "its creator" if named.relation == "created_by" else f"the principal in {named.relation}"
        yield from (_Arrow(start, type, _ELSEWHERE, f"{number}: {named.role}") for type in _in_order(model, named.to))


def _of_rule(model: Model, rule: PropagationRule, label: str) -> Iterator[_Arrow]:
    for origin in _in_order(model, rule.origin):
        if _goes_down(rule):
            yield from (
                _Arrow(origin, each.name, _DOWN, label) for each in model.types.values() if origin in each.parents
            )
            if model.lineage and len(_below(model, {origin})) < len(model.types) - 2:
                yield _Arrow(origin, f"any resource with {', '.join(model.lineage)}", _ELSEWHERE, label)
        else:
            yield from (_Arrow(origin, end, _ELSEWHERE, label) for end in _ends(model, rule, origin))


def _goes_down(rule: PropagationRule) -> bool:
    return not (rule.up or rule.along) and rule.to is None


def _ends(model: Model, rule: PropagationRule, origin: str) -> Iterator[str]:
    """Yield the types that a rule reaches from a type of its origin, except by going down without `to`."""
    if rule.up:
        reaches = rule.up == origin or origin in _below(model, {rule.up})
        ends = {rule.up, *(_below(model, {rule.up}) if rule.within and rule.to else ())} if reaches else set[str]()
        yield from _in_order(model, ends & rule.to if rule.to is not None else ends)
    elif rule.along:
        yield from (_ANY,) if rule.to is None else _in_order(model, rule.to)
    else:
        below = model.types if model.lineage else _below(model, {origin})
        yield from _in_order(model, {each for each in rule.to or () if each in below})


def _below(model: Model, types: Collection[str]) -> set[str]:
    """Return the types that can be below one of the types."""
    found: set[str] = set()
    todo = [*types]
    while todo:
        above = todo.pop()
        new = {each.name for each in model.types.values() if above in each.parents} - found
        found |= new
        todo.extend(new)
    return found


def _in_order(model: Model, types: Collection[str]) -> list[str]:
    return [each for each in model.types if each in types]


def _label(model: Model, number: int, rule: PropagationRule) -> str:
    names = [each for each in model.roles if each in rule.roles]
    more = f" + {len(names) - _MOST_ROLES} more" if len(names) > _MOST_ROLES else ""
    renamed = f" as {rule.role}" if rule.role else ""
    below = " and below" if rule.within and rule.to is None else ""
    condition = " (conditional)" if rule.when else ""
    return f"{number}: {', '.join(names[:_MOST_ROLES])}{more}{renamed}{below}{condition}"


def _wrapped(words: Collection[str]) -> str:
    names = list(words)
    lines = [", ".join(names[at : at + _WORDS_IN_A_LINE]) for at in range(0, len(names), _WORDS_IN_A_LINE)]
    return ",<br>".join(lines)
