"""The access models in force in an organization, and the values of their switches."""

from collections.abc import Iterator
from dataclasses import dataclass

from headgate.control.control import Control
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.snapshot import Resource, Snapshot
from headgate.model.model import Model, Setting


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch of a model on a resource, with its value."""

    model: str
    setting: Setting
    value: str


def active_models(control: Control) -> tuple[Model, ...]:
    """Return the models in force in the organization, sorted by name: the home model, the tree's, and those of projects."""
    facts = control.snapshot
    names = {facts.model, *facts.governs.values()}
    return tuple(control.models[name] for name in sorted(names) if name in control.models)


def list_switches(control: Control, caller: Caller, place: Resource) -> Iterator[Switch]:
    """Yield the switches that can be set on a resource.

    If a model has the action `see_settings`, it is required: raises `PermissionDeniedError`.
    """
    facts, seeing = control.snapshot, f"{place.type}.see_settings"
    for model in _at(control, facts, place):
        if model.has_action(seeing):
            control.require(Question(caller, seeing, place.id))
        for setting in model.settings.values():
            if place.type in setting.on:
                yield Switch(model.name, setting, facts.setting(place.id, setting.name) or setting.default)


def _at(control: Control, facts: Snapshot, place: Resource) -> tuple[Model, ...]:
    own, tree = facts.find_governing_models(place.id)
    return tuple(control.models[name] for name in (own, tree) if name is not None and name in control.models)
