"""Uniform visibility: whether a model treats resources of a type at one place alike, except for assignments on them."""

from headgate.model.model import SETTING_ROOTS, Condition, Model, Requirement

_TREE = ("lake", "database", "table")
"""The types that can be between two such resources and their common ancestor."""


def is_visibility_uniform(model: Model, type: str) -> bool:
    """Whether a caller that may discover a resource without own assignments may discover every such resource beside it."""
    actions = (f"{type}.{model.discover}",) if model.discover else model.actions_on(type)
    alternatives = [each for action in actions for each in model.needs.get(action, ())]
    terms = [term for rule in model.spread for term in rule.when] + [
        term for each in alternatives for term in each.when
    ]
    return all(_says_the_same(model, term) for term in terms) and not any(map(_asks_more_of_some, alternatives))


def _says_the_same(model: Model, term: Condition) -> bool:
    if term.root in SETTING_ROOTS:
        return not set(model.settings[term.name].on) & set(_TREE)
    return term.root == "with"


def _asks_more_of_some(alternative: Requirement) -> bool:
    """Whether the alternative requires a role only if a relation of the resource or its parent names a resource."""
    return any(each.optional and each.root != "with" for each in alternative.roles)
