"""The atomic model: a test grants exactly one action with it; generated from the vocabulary and the shipped models' trees."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from headgate.model.formatter import format_model
from headgate.model.model import Model
from headgate.model.parse_rules import VERBS
from headgate.model.vocabulary import Vocabulary

_HEAD = """\
# One role for each action, with the name of the action, assignable on the types that the action is asked on and on all types
# above; and `root`, which assigns every role. Roles spread down, and creators get no role: with this model a test grants one
# action and nothing else, also on resources that do not exist yet.
# Generated from actions.yaml and the trees of the shipped models: pytest tests/scenarios/test_atomic_model.py --update

model: atomic
version: 1
"""

_ROOTS = ("deployment", "organization")
_ASSIGNMENT = "assignment"


def atomic(vocabulary: Vocabulary, shipped: Sequence[Model]) -> str:
    """Return the text of the model file."""
    parents = {type: _parents(type, vocabulary, shipped) for type in vocabulary.types}
    roles = {role: _and_above(on, parents) for role, on in _roles(vocabulary)}
    lines = (
        _HEAD,
        "types:",
        *(f"  {type}: {{under: {_list(above)}}}" for type, above in parents.items()),
        "",
        "roles:",
        f"  root: {{on: {_list(_ROOTS)}}}",
        *_stated(roles),
        "",
        "spread:",
        "  - roles:",
        *(f"      - {role}" for role in ("root", *roles)),
        f"    from: {_list(vocabulary.types)}",
        "",
        "assign:",
        *_rule("root", VERBS, vocabulary.types, {"root": _ROOTS, **roles}),
        *(line for verb in VERBS for line in _rule(_of(verb), [verb], vocabulary[_of(verb)].on, roles)),
        "",
    )
    return format_model("\n".join(lines))


def _of(verb: str) -> str:
    return f"{_ASSIGNMENT}.{verb}"


def _roles(vocabulary: Vocabulary) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each role with the types that its action is asked on.

    Of the actions on assignments, only those that an assign rule can allow have a role.
    """
    for action in vocabulary.values():
        type, _, verb = action.name.partition(".")
        if type != _ASSIGNMENT or verb in VERBS:
            yield action.name, action.on


def _parents(type: str, vocabulary: Vocabulary, shipped: Sequence[Model]) -> list[str]:
    """Return the possible parents of the type in a shipped model; if no model has it, the types with an action to create it."""
    stated = [parent for model in shipped if type in model.types for parent in model.types[type].parents]
    made = [name.partition(".")[0] for name in vocabulary if name.endswith(f".create_{type}")]
    return sorted(set(stated or made))


def _and_above(types: Iterable[str], parents: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the types with all their possible ancestors, in the order of the vocabulary."""
    found: set[str] = set()
    waiting = list(types)
    while waiting:
        type = waiting.pop()
        if type not in found:
            found.add(type)
            waiting += parents[type]
    return tuple(type for type in parents if type in found)


def _stated(roles: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    for role, on in roles.items():
        type, _, verb = role.partition(".")
        actions = "" if type == _ASSIGNMENT else f", actions: {{{type}: [{verb}]}}"
        yield f"  {role}: {{on: {_list(on)}{actions}}}"


def _rule(holder: str, verbs: Iterable[str], on: Iterable[str], roles: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    there = set(on)
    yield f"  - holder: {holder}"
    yield f"    verbs: {_list(verbs)}"
    yield f"    on: {_list(on)}"
    yield "    roles:"
    yield from (f"      - {role}" for role, types in roles.items() if there.intersection(types))


def _list(words: Iterable[str]) -> str:
    return f"[{', '.join(words)}]"
