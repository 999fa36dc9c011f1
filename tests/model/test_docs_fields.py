"""Every field of a model counts on its page: two models that differ in one field alone have different pages."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from inspect import getmembers, isclass
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_type_hints

import pytest

from headgate.control.kernel.vocabulary import shipped_vocabulary
from headgate.decision.conditions import CONDITIONS
from headgate.model import model as definitions
from headgate.model.docs import model_page
from headgate.model.load import load_model
from headgate.model.model import CreatorRole, Model, Requirement

SMALL = Path(__file__).parent / "small.yaml"
"""A model that uses most parts of the language."""

IDENTITY = {("Model", "hash")}
"""Fields that identify the source of a model and decide nothing."""

CLASSES = [
    each
    for _, each in getmembers(definitions, isclass)
    if is_dataclass(each) and each.__module__ == definitions.__name__
]
FIELDS = [(each.__name__, field.name) for each in CLASSES for field in fields(each)]

Place = tuple[str, str]


def variants(value: Any, hint: Any) -> Iterator[Any]:
    """Yield values of the same type that differ in one thing; for a missing value, an empty or other one of its type."""
    match value:
        case None if isinstance(hint, UnionType):
            yield from variants(get_args(hint)[0](), get_args(hint)[0])
        case bool():
            yield not value
        case int():
            yield value + 1
        case str():
            yield f"{value}x"
        case frozenset():
            yield from (value - {each} for each in value)
        case tuple():
            yield from (value[:at] + value[at + 1 :] for at in range(len(value)))
        case Mapping():
            yield dict(list(value.items())[:-1])
        case _:
            yield from (None,) if is_dataclass(value) else ()


def changed(value: Any) -> Iterator[tuple[Place, Any]]:
    """Yield, for each field of each dataclass inside a value, the whole value with that field changed."""
    if is_dataclass(value) and not isinstance(value, type):
        hints = get_type_hints(type(value))
        for field in fields(value):
            inner = getattr(value, field.name)
            for other in variants(inner, hints[field.name]):
                yield (type(value).__name__, field.name), replace(value, **{field.name: other})
            yield from ((place, replace(value, **{field.name: other})) for place, other in changed(inner))
    elif isinstance(value, tuple):
        for at, each in enumerate(value):
            yield from ((place, (*value[:at], other, *value[at + 1 :])) for place, other in changed(each))
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from ((place, {**value, key: other}) for place, other in changed(each))


def full_model() -> Model:
    """Return a model in which every field has a value: `small.yaml`, with the parts that it does not use."""
    model = load_model(SMALL.read_text(), shipped_vocabulary(), SMALL.name, CONDITIONS)
    standing, spread = model.standing[0], model.spread[0]
    return replace(
        model,
        lineage=("owner",),
        discover="describe",
        standing=(replace(standing, exempt=frozenset(("viewer",))),),
        spread=(
            replace(spread, when=model.roles["viewer"].when, when_from=model.roles["viewer"].when),
            *model.spread[1:],
        ),
        members={"project": frozenset(("owner", "admin"))},
        assign=(replace(model.assign[0], same="project"), *model.assign[1:]),
        needs={**model.needs, "table.alter": (Requirement((), (), "kind"),)},
        creators=(*model.creators, CreatorRole(frozenset(("table",)), "viewer", "editor")),
        acting=frozenset(("table.select",)),
        verbs={"table": ("tag",)},
    )


@pytest.fixture(scope="module")
def counted() -> set[Place]:
    """Return the fields for which a model that differs in that field alone has another page."""
    model = full_model()
    page = model_page(model)
    return {place for place, other in changed(model) if isinstance(other, Model) and model_page(other) != page}


@pytest.mark.parametrize("field", [each for each in FIELDS if each not in IDENTITY], ids=".".join)
def test_a_field_of_a_model_changes_the_page(field: Place, counted: set[Place]) -> None:
    name = ".".join(field)

    assert field in counted, f"write `{name}` on the page (`model/docs.py`), and give it a value in `full_model`"


def test_the_hash_of_the_source_is_not_on_the_page(counted: set[Place]) -> None:
    assert not IDENTITY & counted
