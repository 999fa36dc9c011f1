"""How a scenario's words read: its types are the model's own, its actions the model's column of the vocabulary."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headgate.conformance.errors import ScenarioError
from headgate.model.model import Model
from headgate.model.vocabulary import Action

CREATING = ("create", "create_child")
"""The verbs that are followed by the type of what is made."""

_GRANTING = {"assignment.add": "grant", "assignment.remove": "revoke", "assignment.change": "change_grant"}
"""How the format calls these under a model that has no column."""


@dataclass(frozen=True, slots=True)
class Language:
    """The words of one system: a model, and the canonical actions by the system's name for them."""

    model: Model
    actions: Mapping[str, tuple[Action, ...]]

    def type(self, word: str) -> str:
        """Return the type of the tree that the model calls so. Raises `ScenarioError` if there is none."""
        found = next((each.name for each in self.model.types.values() if each.word == word), None)
        if found is None:
            raise ScenarioError(f"the model `{self.model.name}` has no type `{word}`")
        return found

    def implicit_path(self, parent: str, type: str) -> tuple[str, ...]:
        """Return the implicit types between a parent and what lies under it, from the top.

        Raises `ScenarioError` if the model does not let the one lie under the other.
        """
        found = next((way for way in self._below(parent) if (way or (parent,))[-1] in self._parents(type)), None)
        if found is None:
            raise ScenarioError(f"in the model `{self.model.name}` no `{type}` lies under a `{parent}`")
        return found

    def accepts(self, parent: str, type: str) -> bool:
        """Say whether a resource of the type can lie under such a parent, or under what is implicitly below it."""
        return any((way or (parent,))[-1] in self._parents(type) for way in self._below(parent))

    def implicit(self, parent: str) -> tuple[str, ...]:
        """Return the types of which there is one resource under each parent of this type."""
        return tuple(each.name for each in self.model.types.values() if each.implicit and parent in each.parents)

    def actions_named(self, name: str, made: str | None, type: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the canonical actions that the name stands for on a type, each with the way to where it is asked.

        That is the resource itself, or what the model puts implicitly below it. `made` is the type that a
        creating action names. None for what cannot be done there. Raises `ScenarioError` for an unknown word.
        """
        candidates = self._find_actions(name, made)
        for way in self._below(type):
            place = (type, *way)[-1]
            found = tuple(each.name for each in candidates if place in each.on)
            if found:
                return tuple((each, way) for each in found)
        return ()

    def _find_actions(self, name: str, made: str | None) -> tuple[Action, ...]:
        """Return the actions of a name, wherever they are asked; for a creating one those that make this type, or any."""
        if name not in CREATING:
            if name not in self.actions:
                raise ScenarioError(f"the vocabulary has no action `{name}` for the model `{self.model.name}`")
            return self.actions[name]
        if made is not None:
            return self.actions.get(f"{name} {made}") or self._none_for(made)
        found = {each.name: each for key, named in self.actions.items() if key.startswith(f"{name} ") for each in named}
        return tuple(found.values())

    def _none_for(self, made: str) -> tuple[Action, ...]:
        """Return that a type is never made in this way. Raises `ScenarioError` if there is no such type at all."""
        if not any(key == f"{verb} {made}" for verb in CREATING for key in self.actions):
            self.type(made)
        return ()

    def _parents(self, type: str) -> tuple[str, ...]:
        known = self.model.types.get(type)
        return known.parents if known else ()

    def _below(self, type: str) -> Iterator[tuple[str, ...]]:
        """Yield the ways down through implicit types, the empty one first."""
        ways: list[tuple[str, ...]] = [()]
        for way in ways:
            yield way
            ways.extend((*way, each) for each in self.implicit((type, *way)[-1]))


def words_of(model: Model, vocabulary: Mapping[str, Action]) -> Language:
    """Return the words of a model: those of its column, or, if it has none, the canonical ones."""
    found: dict[str, list[Action]] = {}
    known = any(model.name in each.names for each in vocabulary.values())
    for action in vocabulary.values():
        for name in action.names.get(model.name, ()) if known else _canonical(model, action):
            found.setdefault(name, []).append(action)
    return Language(model, {name: tuple(actions) for name, actions in found.items()})


def _canonical(model: Model, action: Action) -> Iterator[str]:
    verb = action.name.partition(".")[2]
    yield from (action.name, verb)
    if action.name in _GRANTING:
        yield _GRANTING[action.name]
    made = model.types.get(verb.removeprefix("create_"))
    if made is not None and verb.startswith("create_"):
        yield f"create {made.word}"
