"""Translates the words of a scenario: types by the model, actions by the model's column of the vocabulary."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from headgate.conformance.errors import ScenarioError
from headgate.model.declared_names import DeclaredNames
from headgate.model.model import Model
from headgate.model.vocabulary import Action, Vocabulary

CREATING = ("create", "create_child")
"""The verbs that are followed by the type of the created resource."""

_GRANTING = {"assignment.add": "grant", "assignment.remove": "revoke", "assignment.change": "change_grant"}
"""The names of these actions for a model without a column in the vocabulary."""


@dataclass(frozen=True, slots=True)
class Language:
    """The words of one system: its model, the canonical actions by the system's names, and the declared names."""

    model: Model
    actions: Mapping[str, tuple[Action, ...]]
    names: DeclaredNames

    def type(self, word: str) -> str:
        """Return the canonical type for a word of the model. Raises `ScenarioError` if there is none."""
        found = next((each.name for each in self.model.types.values() if each.word == word), None)
        if found is None:
            raise ScenarioError(
                f"the model `{self.model.name}` has no type `{word}`; its types are "
                f"{', '.join(each.word for each in self.model.types.values())}"
            )
        return found

    def implicit_path(self, parent: str, type: str) -> tuple[str, ...]:
        """Return the implicit types between a parent and a type below it, from the top.

        Raises `ScenarioError` if the model does not allow the type below the parent.
        """
        found = next((way for way in self._below(parent) if (way or (parent,))[-1] in self._parents(type)), None)
        if found is None:
            raise ScenarioError(
                f"the model `{self.model.name}` does not allow a `{type}` below a `{parent}`; choose another parent"
            )
        return found

    def accepts(self, parent: str, type: str) -> bool:
        """Whether a resource of the type can be below a parent of this type, or below one of its implicit children."""
        return any((way or (parent,))[-1] in self._parents(type) for way in self._below(parent))

    def implicit(self, parent: str) -> tuple[str, ...]:
        """Return the implicit types: each parent of this type has exactly one child of each."""
        return tuple(each.name for each in self.model.types.values() if each.implicit and parent in each.parents)

    def actions_named(self, name: str, made: str | None, type: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the canonical actions for a name on a type, each with the path to the resource that is asked about.

        The path is empty for the resource itself, or leads down to one of its implicit children. `made` is the type that a
        creating action names. The result is empty for an action that does not apply to the type. Raises `ScenarioError` for an
        unknown word.
        """
        candidates = self._find_actions(name, made, type)
        for way in self._below(type):
            place = (type, *way)[-1]
            found = tuple(each.name for each in candidates if place in each.on)
            if found:
                return tuple((each, way) for each in found)
        return ()

    def list_names(self, type: str) -> str:
        """Return the names of the actions on a type, as a part of a message."""
        names = sorted({name for name, actions in self.actions.items() if any(type in each.on for each in actions)})
        word = self.model.local_name(type)
        return f"the actions on `{word}` are {', '.join(names)}" if names else f"`{word}` has no actions"

    def _find_actions(self, name: str, made: str | None, type: str) -> tuple[Action, ...]:
        """Return the actions with a name, on any type. For a creating name: those that create the type `made`, or any type."""
        if name not in CREATING:
            if name not in self.actions:
                raise ScenarioError(
                    f"the vocabulary has no action `{name}` for the model `{self.model.name}`; {self.list_names(type)}"
                )
            return self.actions[name]
        if made is not None:
            return self.actions.get(f"{name} {made}") or self._none_for(made)
        found = {each.name: each for key, named in self.actions.items() if key.startswith(f"{name} ") for each in named}
        return tuple(found.values())

    def require_declared(self, type: str, names: Collection[str]) -> None:
        """Raise `ScenarioError` for a name that is no attribute, relation or setting of a type."""
        settings = tuple(each.name for each in self.model.settings.values() if type in each.on)
        known = (*settings, *self.names.attributes.get(type, ()), *self.names.relations.get(type, ()))
        unknown = next((name for name in names if name not in known), None)
        if unknown is not None:
            raise ScenarioError(
                f"the type `{self.model.local_name(type)}` has no attribute, relation or setting `{unknown}`; "
                + (
                    f"choose from {', '.join(known)}"
                    if known
                    else "leave it out, or declare it in `types` of the model"
                )
            )

    def _none_for(self, made: str) -> tuple[Action, ...]:
        """Return no actions for a type that is never created in this way. Raises `ScenarioError` for an unknown type."""
        if not any(key == f"{verb} {made}" for verb in CREATING for key in self.actions):
            self.type(made)
        return ()

    def _parents(self, type: str) -> tuple[str, ...]:
        known = self.model.types.get(type)
        return known.parents if known else ()

    def _below(self, type: str) -> Iterator[tuple[str, ...]]:
        """Yield the paths down through implicit types, the empty path first."""
        ways: list[tuple[str, ...]] = [()]
        for way in ways:
            yield way
            ways.extend((*way, each) for each in self.implicit((type, *way)[-1]))


def words_of(model: Model, vocabulary: Vocabulary) -> Language:
    """Return the words of a model: those of its column of the vocabulary, or without a column the canonical ones."""
    found: dict[str, list[Action]] = {}
    known = any(model.name in each.names for each in vocabulary.values())
    for action in vocabulary.of_model(model).values():
        for name in action.names.get(model.name, ()) if known else _canonical(model, action):
            found.setdefault(name, []).append(action)
    return Language(model, {name: tuple(actions) for name, actions in found.items()}, vocabulary.names.of_model(model))


def _canonical(model: Model, action: Action) -> Iterator[str]:
    verb = action.name.partition(".")[2]
    yield from (action.name, verb)
    if action.name in _GRANTING:
        yield _GRANTING[action.name]
    made = model.types.get(verb.removeprefix("create_"))
    if made is not None and verb.startswith("create_"):
        yield f"create {made.word}"
