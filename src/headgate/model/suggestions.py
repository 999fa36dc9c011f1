"""Suggestions for unknown types and verbs, from the lists of the vocabulary and the model."""

from collections.abc import Callable, Collection, Iterable

from headgate.model.vocabulary import Vocabulary


def quoted(names: Iterable[str]) -> str:
    """Return names as a list of a message: `a`, `b`, `c`."""
    return ", ".join(f"`{name}`" for name in names)


def for_type(vocabulary: Vocabulary, types: Collection[str]) -> Callable[[str], str]:
    """Return the function from an unknown type to what to write; `types` are those that may be written at the place."""

    def suggest(word: str) -> str:
        kind_of = vocabulary.names.kinds.get(word)
        if kind_of:
            return f"a {word} is a `{kind_of}` of kind `{word}`: write `{kind_of}`, with the condition `self.kind is {word}`"
        listed = f"the types are {quoted(types)}"
        return f"add `{word}` to `types`; {listed}" if word in vocabulary.types else listed

    return suggest


def for_verb(vocabulary: Vocabulary, type: str) -> str:
    """Return the verbs of a type, for a message about an unknown one."""
    verbs = [action.partition(".")[2] for action in vocabulary.of(type)]
    return f"the verbs of `{type}` are {quoted(verbs)}"
