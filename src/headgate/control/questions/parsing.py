"""Parses a call of an endpoint (a canonical action, a resource and parameters) into a question on one log.

The parameters are the conformance suite's `with` (`tests/conformance/FORMAT.md`, section 5): the role and the subject of an
assignment, the other resources that the call concerns, and words.
"""

from collections.abc import Iterator, Mapping

from headgate.control.kernel.parsing import JsonObject, JsonValue, first_text, list_items, require_text, text_tuple
from headgate.decision.context import model_for
from headgate.decision.evaluator import Answers
from headgate.decision.reference import ASSIGNING
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import Snapshot
from headgate.model.model import Model, Requirement

ROLE_WORDS = ("role", "privilege", "access")
"""Names of the parameters that hold a role."""

_SUBJECT_WORDS = ("to", "from", "of", "user")
_NEW_ROLE, _JOINING = "new_role", "user"
_OUTPUTS, _STREAM = ("output", "outputs"), "stream"
_OF_AN_ASSIGNMENT = frozenset((*ROLE_WORDS, *_SUBJECT_WORDS, _NEW_ROLE))

WORDS = frozenset(("type", "name", "kind", "domain", "purpose", "email"))
"""Parameters whose value is never an id, even if a resource has that id."""


def parse_question(answers: Answers, caller: Caller, action: str, resource: ResourceId, said: JsonObject) -> Question:
    """Return the question of a call. Raises `InvalidDocumentError` for a parameter of an unknown form."""
    if not said:
        return Question(caller, action, resource)
    facts = answers.facts
    on, given = _parameters(answers, action, resource, said)
    named = first_text(said, *_SUBJECT_WORDS)
    subject = None if named is None else PrincipalId(named)
    if _may_join(facts, action, resource, said) and subject not in facts.principals:
        subject = None
    role, new_role = _roles(facts, action, resource, subject, said)
    return Question(caller, action, resource, on, role, subject, new_role, given)


def _parameters(
    answers: Answers, action: str, resource: ResourceId, said: JsonObject
) -> tuple[Mapping[str, tuple[ResourceId, ...]], Mapping[str, tuple[str, ...]]]:
    """Return the other resources that the call concerns, and its words."""
    on: dict[str, tuple[ResourceId, ...]] = {}
    given: dict[str, tuple[str, ...]] = {}
    places, terms = _list_declared(answers, action, resource)
    for key, value in said.items():
        if key in _OUTPUTS:
            on |= _parse_outputs(answers.facts, value, creating=action.partition(".")[2].startswith("create_"))
        elif key == _STREAM:
            on |= _stream(answers.facts, resource, text_tuple(value))
        elif key in _OF_AN_ASSIGNMENT or value is None:
            continue
        elif key in places or (key not in terms and _has_known_ids_only(answers.facts, value)):
            on[key] = tuple(ResourceId(each) for each in text_tuple(value))
        elif key in terms or all(isinstance(each, str | bool | int | float) for each in list_items(value)):
            given[key] = text_tuple(value)  # no model can refer to a value of any other form
    return on, given


def _list_declared(answers: Answers, action: str, resource: ResourceId) -> tuple[frozenset[str], frozenset[str]]:
    """Return the parameters of such a call that the model reads as resources, and those that it reads as words."""
    found = answers.facts.resources.get(resource)
    model = model_for(answers.models, answers.facts, found.type, resource) if found else None
    alternatives = tuple(_alternatives(model, action)) if model else ()
    places = frozenset(each.relation for way in alternatives for each in way.roles if each.root == "with")
    terms = frozenset(term.name for way in alternatives for term in way.when if term.root == "with")
    terms |= frozenset(way.each for way in alternatives if way.each)
    return frozenset(each for each in places if each), terms | WORDS


def _alternatives(model: Model, action: str) -> Iterator[Requirement]:
    yield from model.needs.get(action, ())
    if action in ASSIGNING:
        yield from (Requirement(rule.when, rule.needs) for rule in model.assign)


def _has_known_ids_only(facts: Snapshot, value: JsonValue) -> bool:
    return all(
        isinstance(each, str)
        and (
            ResourceId(each) in facts.resources
            or PrincipalId(each) in facts.principals
            or GroupId(each) in facts.groups
        )
        for each in list_items(value)
    )


def _parse_outputs(facts: Snapshot, value: JsonValue, *, creating: bool) -> Mapping[str, tuple[ResourceId, ...]]:
    """Return the tables that are written, and the databases of new ones.

    A resource that is created also declares the databases of the existing tables that it writes.
    """
    tables, layers = list[ResourceId](), list[ResourceId]()
    for each in list_items(value):
        if isinstance(each, Mapping):
            layers.append(ResourceId(require_text(each, "new_table_in")))
        else:
            tables.extend(ResourceId(table) for table in text_tuple(each))
    if creating:
        layers += (facts.resources[table].parent for table in tables if table in facts.resources)
    return {"outputs": tuple(tables), "output_layers": tuple(dict.fromkeys(layers))}


def _stream(facts: Snapshot, resource: ResourceId, names: tuple[str, ...]) -> Mapping[str, tuple[ResourceId, ...]]:
    """Return the targets of the edges with these names, by relation."""
    found = facts.resources.get(resource)
    if found is None:
        return {}
    named = {
        relation: tuple(edge.target for edge in edges if edge.name in names)
        for relation, edges in found.relations.items()
    }
    return {relation: targets for relation, targets in named.items() if targets}


def _may_join(facts: Snapshot, action: str, resource: ResourceId, said: JsonObject) -> bool:
    """Return whether the call may be about a user who is to join the organization, a user without any facts yet."""
    return _JOINING in said and action == "assignment.add" and resource == facts.organization


def _roles(
    facts: Snapshot, action: str, resource: ResourceId, subject: SubjectId | None, said: JsonObject
) -> tuple[str | None, str | None]:
    """Return the role that a question is about, and the role that is to replace it.

    If the role to be changed or revoked is not named, it is the one that the subject holds on the resource. If no new role
    is named, the new role is the held one.
    """
    role, new_role = first_text(said, *ROLE_WORDS), first_text(said, _NEW_ROLE)
    if action == "assignment.change" and new_role is None:
        held = _find_held_role(facts, subject, resource)
        return held, role or held
    if action == "assignment.remove" and role is None:
        return _find_held_role(facts, subject, resource), None
    return role, new_role


def _find_held_role(facts: Snapshot, subject: SubjectId | None, place: ResourceId) -> str | None:
    given = facts.assignments.get(subject, {}) if subject else {}
    return next((role for role, where, _ in given if where == place), None)
