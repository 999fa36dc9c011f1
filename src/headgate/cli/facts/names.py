"""Resolves the arguments of a question: ids, and full names of resources such as `lake.raw.flights`."""

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches

from headgate.cli.facts.options import AskError, With
from headgate.control.questions.resource_names import list_candidates
from headgate.decision.context import Models
from headgate.decision.reference import ASSIGNING
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import Change, GovernedBy, ResourceCreated, RoleAssigned, SettingChanged
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, RunId, SubjectId, TokenId
from headgate.facts.snapshot import Snapshot
from headgate.model.model import Model

_CORRECT = "; correct the name"
_NO_NAMES = "a facts file has no names of principals; `headgate api GET /api/v1/users` shows the id of each user"


def resource_of(facts: Snapshot, name: str) -> ResourceId:
    """Return the resource with an id or a full name. Raises `AskError` if there is none, or if several have the name."""
    ids = sorted(set(list_candidates(facts, name)))
    if ResourceId(name) in ids or len(ids) == 1:
        return ResourceId(name) if ResourceId(name) in ids else ids[0]
    if not ids:
        names = {name_text(facts, id) for id in facts.resources}
        raise AskError(
            f"the facts file has no resource `{name}`{suggest(name, {*names, *facts.resources}) or _CORRECT}"
        )
    raise AskError(
        f"several resources have the name `{name}`; pass the id of one: {', '.join(f'`{id}`' for id in ids)}"
    )


def name_text(facts: Snapshot, id: ResourceId | None) -> str:
    """Return the full name of a resource, or its id if the facts do not contain it (any more)."""
    if id is None or id not in facts.resources:
        return str(id)
    return ".".join(facts.full_name(id))


def caller_of(facts: Snapshot, name: str) -> Caller:
    """Return the caller with an id: a principal, the principal of a token or run, or a team. Raises `AskError` if there is none."""
    token, run = facts.tokens.get(TokenId(name)), facts.runs.get(RunId(name))
    if token is not None:
        return Caller(token.principal, TokenId(name))
    if run is not None:
        return Caller(run.run_as, run=RunId(name))
    if name not in facts.principals and name not in facts.resources:
        hint = suggest(name, facts.principals) or f"; {_NO_NAMES}"
        raise AskError(f"no principal, token or run has the id `{name}`{hint}")
    return Caller(PrincipalId(name))


def action_of(models: Models, name: str) -> str:
    """Return the name of an action if a model in force has it. Raises `AskError` for any other name."""
    known = {action for model in models.values() for type in model.types for action in model.actions_on(type)}
    if name not in known | ASSIGNING.keys():
        raise AskError(
            f"no access model of the facts file has an action `{name}`{suggest(name, known | ASSIGNING.keys()) or _CORRECT}"
        )
    return name


def question_of(models: Models, facts: Snapshot, caller: Caller, asked: tuple[str, ResourceId], more: With) -> Question:
    """Return a question with its parameters. Raises `AskError` for an unknown name or a parameter without `=`."""
    action, place = asked
    if action in ASSIGNING:
        _require_assignment(action, more)
    return Question(
        caller,
        action_of(models, action),
        place,
        {key: tuple(_place_of(facts, name) for name in names) for key, names in _pairs(more.related).items()},
        _role_of(models, facts, more.role),
        _subject_of(facts, more.subject) if more.subject else None,
        _role_of(models, facts, more.new_role),
        _pairs(more.context),
    )


def _require_assignment(action: str, more: With) -> None:
    """Raise `AskError` for a question about an assignment that lacks an option."""
    if more.role is None:
        raise AskError(f"`{action}` needs the role of the assignment; pass it with `--role`")
    if action == "assignment.change" and more.new_role is None:
        raise AskError(f"`{action}` needs the role that replaces the one of `--role`; pass it with `--new-role`")
    if action != "assignment.add" and more.subject is None:
        raise AskError(f"`{action}` needs the subject of the assignment; pass it with `--subject`")


def _pairs(words: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for each in words:
        key, sign, value = each.partition("=")
        if not sign or not key:
            raise AskError(f"`{each}` is not a parameter; write `WHAT=VALUE`, for example `kind=compaction`")
        found[key] = (*found.get(key, ()), *value.split(","))
    return found


def _place_of(facts: Snapshot, name: str) -> ResourceId:
    # A parameter can name a user, for example the consumer of an agreement.
    return ResourceId(name) if name in facts.principals else resource_of(facts, name)


def _subject_of(facts: Snapshot, name: str) -> SubjectId:
    if name in facts.principals or GroupId(name) in facts.groups:
        return PrincipalId(name)
    return resource_of(facts, name)


def _role_of(models: Models, facts: Snapshot, name: str | None) -> str | None:
    known = {*facts.custom_roles, *(role for model in models.values() for role in model.roles)}
    if name is not None and name not in known:
        raise AskError(f"no access model of the facts file has a role `{name}`{suggest(name, known) or _CORRECT}")
    return name


def has_role(facts: Snapshot, model: Model | None, role: str) -> bool:
    """Whether a model has a role of this name: its own, or a custom role of the organization."""
    return model is not None and role in _roles_of(facts, model)


def _roles_of(facts: Snapshot, model: Model) -> Collection[str]:
    return {*model.roles, *(facts.custom_roles if model.custom_roles is not None else ())}


def describe_unknown_word(models: Models, facts: Snapshot, change: Change) -> str:
    """Return which model, role, type or setting of a change no access model in force has; empty if all are known."""
    match change:
        case RoleAssigned(role=role, model=model) if model in models and not has_role(facts, models[model], role):
            meant = suggest(role, _roles_of(facts, models[model]))
            return f"the access model `{model}` has no role `{role}`{meant or '; correct the role'}"
        case RoleAssigned(model=model) | GovernedBy(model=model) if model not in models:
            return f"no access model `{model}` is in force; write one of {', '.join(f'`{each}`' for each in models)}"
        case ResourceCreated(type=type) if not any(type in each.types for each in models.values()):
            known = {type for each in models.values() for type in each.types}
            return f"no access model in force has the type `{type}`{suggest(type, known) or '; correct the type'}"
        case SettingChanged(setting=name) if not any(name in each.settings for each in models.values()):
            known = {name for each in models.values() for name in each.settings}
            return f"no access model in force has the setting `{name}`{suggest(name, known) or '; correct the setting'}"
        case _:
            return ""


def suggest(name: str, known: Collection[str]) -> str:
    """Return the end of a message that suggests the most similar of the known names; empty if none is similar."""
    close = get_close_matches(name, known, n=1)
    return f"; did you mean `{close[0]}`?" if close else ""
