"""Mermaid diagram of a model's propagation: types are nodes, arrows are labelled with roles.

Types that every rule treats alike share a node. The numbers in the labels are those of the sentences on the page.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from headgate.model.model import Model, PropagationRule

_MOST_ROLES = 3
"""The largest number of roles in one label; a longer list ends with the number of the others."""

_WORDS_IN_A_LINE = 4

_LAYOUT = '%%{init: {"flowchart": {"nodeSpacing": 80, "rankSpacing": 80}}}%%'
"""Space for the labels of arrows, which would otherwise overlap."""

_DOWN, _ELSEWHERE = "-->", "-.->"
"""An arrow to a child, from which the role also goes on below; and an arrow to exactly the types at its end."""


@dataclass(frozen=True, slots=True)
class _Arrow:
    """An arrow of a rule between two types, or from or to a text that is no type."""

    rule: int
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
    yield from ("```mermaid", _LAYOUT, "flowchart TD")
    yield from (f'    {id}["{_wrapped(name.split(", "))}"]' for name, id in ids.items())
    merged = _merged([replace(each, start=ids[nodes[each.start]], end=ids[nodes[each.end]]) for each in arrows])
    yield from (f'    {each.start} {each.form}|"{each.label}"| {each.end}' for each in merged)
    joined = {(each.start, each.end) for each in merged if each.form == _DOWN}
    yield from (f"    {start} --- {end}" for start, end in _tree_lines(model, nodes, ids) if (start, end) not in joined)
    yield "```"


def _merged(arrows: Collection[_Arrow]) -> Iterable[_Arrow]:
    """Return the arrows with those between the same nodes, of the same form, as one with the labels of all.

    The roles of a rule are written once at each node: another arrow of the rule there has the number only.
    """
    merged: dict[_Arrow, list[str]] = {}
    written: set[tuple[int, str]] = set()
    for each in dict.fromkeys(arrows):
        ends = {(each.rule, each.start), (each.rule, each.end)}
        label = str(each.rule) if ends & written else each.label
        merged.setdefault(replace(each, rule=0, label=""), []).append(label)
        written |= ends
    return [replace(each, label=_label(labels)) for each, labels in merged.items()]


def _label(rules: Sequence[str]) -> str:
    """Return a label: the rules in a line each, and at the end those of which only the number is written, in one line."""
    numbers = ", ".join(each for each in rules if each.isdecimal())
    return "<br>".join((*(each for each in rules if not each.isdecimal()), *([numbers] if numbers else [])))


def _nodes(model: Model, arrows: Collection[_Arrow]) -> Mapping[str, str]:
    """Return the name of the node of each text and each type with a part in a rule: the words of all types that share it."""
    parts = {type: part for type in model.types if (part := _part(model, arrows, type))}
    texts = dict.fromkeys(name for arrow in arrows for name in (arrow.start, arrow.end) if name not in model.types)
    groups: dict[object, list[str]] = {}
    for type, part in parts.items():
        passive = all(place == "below" for place, _ in part)
        groups.setdefault((part, model.types[type].parents if passive else ()), []).append(type)
    named = {type: ", ".join(map(model.local_name, types)) for types in groups.values() for type in types}
    return {**named, **{text: text for text in texts}}


def _part(model: Model, arrows: Collection[_Arrow], type: str) -> frozenset[tuple[str, int]]:
    """Return the part of a type in each rule: its roles act from the type, on it, or on it as on everything below a type."""
    rules = list(enumerate(model.spread, 1))
    return frozenset(
        (
            *(("from", number) for number, rule in rules if type in rule.origin),
            *(("below", number) for number, rule in rules if _goes_down(rule) and type in _below(model, rule.origin)),
            *(("to", each.rule) for each in arrows if each.form == _ELSEWHERE and each.end == type),
        )
    )


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
        for start, end, form in _of_rule(model, rule):
            yield _Arrow(number, start, end, form, _text(model, number, rule))
    for number, named in enumerate(model.named_in, len(model.spread) + 1):
        start = "its creator" if named.relation == "created_by" else f"the principal in relation {named.relation}"
        for type in _in_order(model, named.to):
            yield _Arrow(number, start, type, _ELSEWHERE, f"{number}: {named.role}")


def _of_rule(model: Model, rule: PropagationRule) -> Iterator[tuple[str, str, str]]:
    """Yield the start, the end and the form of each arrow of a rule."""
    for origin in _in_order(model, rule.origin):
        if _goes_down(rule):
            yield from ((origin, each.name, _DOWN) for each in model.types.values() if origin in each.parents)
            if model.lineage and len(_below(model, {origin})) < len(model.types) - 2:
                yield origin, f"any resource by relation {', '.join(model.lineage)}", _ELSEWHERE
        else:
            yield from ((origin, end, _ELSEWHERE) for end in _ends(model, rule, origin))


def _goes_down(rule: PropagationRule) -> bool:
    return not (rule.up or rule.along) and rule.to is None


def _ends(model: Model, rule: PropagationRule, origin: str) -> Iterator[str]:
    """Yield the types that a rule reaches from a type of its origin, except by going down without `to`."""
    if rule.up:
        reaches = rule.up == origin or origin in _below(model, {rule.up})
        ends = {rule.up, *(_below(model, {rule.up}) if rule.within and rule.to else ())} if reaches else set[str]()
        yield from _in_order(model, ends & rule.to if rule.to is not None else ends)
    elif rule.along:
        words = "any resource" if rule.to is None else ", ".join(map(model.local_name, _in_order(model, rule.to)))
        yield f"{words} by relation {rule.along}"
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


def _text(model: Model, number: int, rule: PropagationRule) -> str:
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
