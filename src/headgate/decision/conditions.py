"""Named conditions, which the language of models cannot express: identity (own domain, four eyes), time, and state.

Each is a pure function of its `ConditionInput`. A model refers to a condition by its name in a `when`; the model's
checker reports an unknown name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headgate.decision.four_eyes import is_author
from headgate.decision.types import Question
from headgate.facts.ids import PrincipalId
from headgate.facts.snapshot import Resource, Snapshot
from headgate.model.model import Condition, Model, When

_MOST_KEYS = 100
"""The largest number of keys (service principals) in one organization (MODELS 4.6)."""

_MAIN = "main"
"""The branch that is always published (MODELS 2.6)."""


@dataclass(frozen=True, slots=True)
class ConditionInput:
    """The input of conditions: the facts, the question, the resource that is decided on, its model, and the time."""

    facts: Snapshot
    question: Question
    model: Model
    resource: Resource
    now: float


def holds(when: When, case: ConditionInput) -> bool:
    """Whether every condition holds."""
    return all(_holds(term, case) for term in when)


def _holds(term: Condition, case: ConditionInput) -> bool:
    found = CONDITIONS[term.name](case) if term.root == "named" else bool(set(_operand(term, case)) & set(term.values))
    return found is not term.negated


def _operand(term: Condition, case: ConditionInput) -> tuple[str, ...]:
    facts, resource = case.facts, case.resource
    match term.root:
        case "setting" | "any_setting" | "parent_setting" | "any_parent_setting":
            place = resource.parent if "parent" in term.root else resource.id
            found = facts.list_settings(place, term.name) or (case.model.settings[term.name].default,)
            return found if term.root.startswith("any") else found[:1]
        case "with":
            return case.question.given.get(term.name, ())
        case "parent":
            return facts.resources[resource.parent].attributes.get(term.name, ())
        case _:
            return resource.attributes.get(term.name, ())


def _own_domain(case: ConditionInput) -> bool:
    principal = case.facts.principals.get(PrincipalId(case.question.caller.principal))
    domains = principal.attributes.get("domain", ()) if principal else ()
    return bool(domains) and case.question.given.get("domain") == domains


def _free_domain(case: ConditionInput) -> bool:
    asked = case.question.given.get("domain", ())
    there = (each.attributes.get("domain", ()) for each in case.facts.resources.values() if each.type == "organization")
    return all(taken != asked for taken in there)


def _state(name: str) -> Callable[[ConditionInput], bool]:
    def check(case: ConditionInput) -> bool:
        filed = case.facts.agreements.get(case.resource.id) or case.facts.change_requests.get(case.resource.id)
        return filed is not None and filed.state == name

    return check


def _before_end(case: ConditionInput) -> bool:
    agreement = case.facts.agreements.get(case.resource.id)
    return agreement is not None and (agreement.ends is None or case.now < agreement.ends)


def _published(case: ConditionInput) -> bool:
    layer = case.facts.resources[case.resource.parent]
    published = {_MAIN, *layer.attributes.get("published_branches", ())}
    return not published.isdisjoint(case.resource.attributes.get("branch", ()))


def _subject_is_member(case: ConditionInput) -> bool:
    subject = case.question.subject
    given = case.facts.assignments.get(subject, {}) if subject else {}
    return any(each.resource == case.resource.id and each.holds_at(case.now) for each in given.values())


def _permissions_known(case: ConditionInput) -> bool:
    known = case.model.custom_roles.of if case.model.custom_roles else frozenset[str]()
    return set(case.question.given.get("permissions", ())) <= known


def _role_is_held(case: ConditionInput) -> bool:
    names = case.question.given.get("name", ())
    return any(each.role in names for held in case.facts.assignments.values() for each in held.values())


def _role_is_known(case: ConditionInput) -> bool:
    return all(name in case.facts.custom_roles for name in case.question.given.get("name", ()))


def _keys_left(case: ConditionInput) -> bool:
    return sum(each.kind == "service_principal" for each in case.facts.principals.values()) < _MOST_KEYS


CONDITIONS: Mapping[str, Callable[[ConditionInput], bool]] = {
    "approved": _state("approved"),
    "author": lambda case: is_author(case.facts, case.question.caller, case.resource.id),
    "before_end": _before_end,
    "consumer_is_self": lambda case: case.question.on.get("consumer", ()) == (case.question.caller.principal,),
    "custom_roles_defined": lambda case: bool(case.facts.custom_roles),
    "free_domain": _free_domain,
    "keys_left": _keys_left,
    "own_domain": _own_domain,
    "permissions_known": _permissions_known,
    "published": _published,
    "purpose_given": lambda case: any(word.strip() for word in case.question.given.get("purpose", ())),
    "requested": _state("requested"),
    "role_is_held": _role_is_held,
    "role_is_known": _role_is_known,
    "self_is_caller": lambda case: case.resource.id == case.question.caller.principal,
    "subject_is_member": _subject_is_member,
    "subject_is_principal": lambda case: case.question.subject in case.facts.principals,
    "subject_is_user": lambda case: (
        getattr(case.facts.principals.get(PrincipalId(case.question.subject or "")), "kind", None) == "user"
    ),
}
"""Every condition that a model may name."""
