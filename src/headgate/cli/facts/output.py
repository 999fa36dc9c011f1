"""Prints decisions: as lines for people, and as JSON for programs."""

from collections.abc import Iterable
from typing import Any

from headgate.cli.facts.names import name_text
from headgate.cli.output import note, say, write_json
from headgate.decision.types import Decision
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Snapshot


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    write_json(value, indent=2)


def print_decision(facts: Snapshot, decision: Decision, *, json: bool) -> None:
    """Print a decision without its reasons."""
    if json:
        print_json(decision_json(facts, decision))
    else:
        say(format_verdict(facts, decision))


def format_verdict(facts: Snapshot, decision: Decision) -> str:
    """Return a decision as one line."""
    question, answer = decision.question, "allow" if decision.allowed else "deny"
    asked = f"{question.caller.principal}, {question.action} on {name_text(facts, question.resource)}"
    return f"{answer}: {asked} ({decision.model}, revision {decision.revision})"


def decision_json(facts: Snapshot, decision: Decision) -> dict[str, Any]:
    """Return a decision as JSON."""
    question = decision.question
    return {
        "allowed": decision.allowed,
        "principal": question.caller.principal,
        "action": question.action,
        "resource": question.resource,
        "name": name_text(facts, question.resource),
        "model": decision.model,
        "revision": decision.revision,
    }


def print_resources(facts: Snapshot, ids: Iterable[ResourceId], *, json: bool) -> None:
    """Print resources by their names, sorted."""
    found = sorted((name_text(facts, id), id) for id in ids)
    if json:
        print_json([{"resource": id, "name": name, "type": facts.resources[id].type} for name, id in found])
        return
    for name, _ in found:
        say(name)
    if not found:
        note("there is no resource on which the principal may do this action")


def print_people(ids: Iterable[PrincipalId], *, json: bool) -> None:
    """Print the ids of principals, sorted."""
    found = sorted(ids)
    if json:
        print_json(found)
        return
    for id in found:
        say(id)
    if not found:
        note("no principal may do this action on the resource")
