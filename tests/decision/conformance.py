"""Runs the conformance suite's `nekt` cases on the core: a case is a world, steps and one question. Needs no English.

What this version does not have yet raises `NotYetError` with a typed reason; a case is never told apart by its id.
`python -m tests.decision.conformance` prints the count and every case that is wrong.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from headgate.control.assignments import AssignRole, RevokeRole
from headgate.control.command import Command, CommandError
from headgate.control.control import Control
from headgate.control.groups import ChangeMembership, CreateGroup, RenameGroup
from headgate.control.principals import AddPrincipal, RemovePrincipal
from headgate.control.tokens import IssueToken
from headgate.decision.records import Question
from headgate.facts import changes as c
from headgate.facts.caller import Caller
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, TokenId
from tests.fakes.store import FakeStore
from tests.fakes.world import ACTIONS, NEKT, NOW

SUITE = Path(__file__).parents[1] / "conformance"
NEW = ResourceId("new")
"""The id of what a question would make."""

Body = Mapping[str, Any]


class NotYetError(Exception):
    """The case needs a kind of thing that this version does not have."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one case: `exact`, `wrong` or `not yet`, and why."""

    case: str
    verdict: str
    reason: str


class World:
    """The suite's ids on the resource tree: its workspace is the organization, the default project and the lake."""

    def __init__(self, source: Body) -> None:
        self._types: dict[str, str] = {}
        self._parts: dict[str, str] = {}
        self._makers: dict[str, str] = {}
        self._root = next(each["id"] for each in source["resources"] if each["parent"] is None)
        self._places = {kind: ResourceId(f"{self._root}/{kind}") for kind in ("project", "lake")}
        self._store = FakeStore()
        self._store.write(*self._start(source))
        self.control = Control(self._store, NEKT, lambda: NOW)

    def write(self, *changes: c.Change) -> None:
        """Make something hold, unchecked."""
        self._store.write(*changes)
        self.control = Control(self._store, NEKT, lambda: NOW)

    def caller(self, actor: str) -> Caller:
        """Return who asks: a person, or a token's maker through that token."""
        maker = self._makers.get(actor)
        return Caller(PrincipalId(maker), TokenId(actor)) if maker else Caller(PrincipalId(actor))

    def token(self, id: str, maker: str) -> None:
        """Note whose token this is."""
        self._makers[id] = maker

    def resource(self, id: str, *types: str) -> tuple[str, ResourceId]:
        """Return type and id of what the suite calls so; `types` says which is meant where its workspace is several."""
        if id == self._root:
            kind = next((each for each in types if each in self._places), "organization")
            return kind, self._places.get(kind, ResourceId(id))
        id = self._parts.get(id, id)
        return _tree_type(self._types[id]), ResourceId(id)

    def made(self, body: Body) -> Iterator[c.Change]:
        """Return the changes that make a resource of the suite."""
        self._types[body["id"]] = body["type"]
        if body["type"] == "field":
            self._parts[body["id"]] = body["parent"]
        if body["type"] in _UNKNOWN or body["type"] in ("workspace", "field"):
            return
        kind = _tree_type(body["type"])
        parent = ResourceId(body["parent"])
        if parent == self._root:
            parent = self._places["lake" if kind == "database" else "project"]
        yield c.ResourceCreated(ResourceId(body["id"]), kind, parent, body["id"], None, dict(_relations(body)))

    def _start(self, source: Body) -> Iterator[c.Change]:
        root = ResourceId(self._root)
        yield c.OrganizationCreated(root, NEKT.name, NEKT.hash)
        yield c.ResourceCreated(self._places["project"], "project", root, "default")
        yield c.ResourceCreated(self._places["lake"], "lake", self._places["project"], "lake")
        for group in source["groups"]:
            self._types[group["id"]] = group["type"]
            yield c.GroupCreated(GroupId(group["id"]), built_in=group.get("built_in", False))
        for user in source["users"]:
            if user["org_role"]:
                yield from _joined(self._root, user["id"], user["org_role"])
        for group in source["groups"]:
            for user in group["members"]:
                yield c.MemberAdded(GroupId(group["id"]), PrincipalId(user))
        for grant in source["grants"]:
            yield _assigned(grant["to"], grant["role"], grant["on"])
        for body in source["resources"]:
            yield from self.made(body)


_UNKNOWN = frozenset(("saved_query",))


def _tree_type(type: str) -> str:
    if type in _UNKNOWN:
        raise NotYetError(f"type {type}")
    return next((ours for ours, theirs in NEKT.type_names.items() if theirs == type), type)


def _relations(body: Body) -> Iterator[tuple[str, tuple[c.Edge, ...]]]:
    for relation in ("inputs", "outputs", "output_layers"):
        if relation in body:
            yield relation, tuple(c.Edge(ResourceId(id)) for id in body[relation])
    if "streams" in body:
        edges = (c.Edge(ResourceId(each["output"]), each["enabled"], each["name"]) for each in body["streams"])
        yield "outputs", tuple(edges)


def _assigned(subject: str, role: str, resource: str) -> c.RoleAssigned:
    return c.RoleAssigned(PrincipalId(subject), role, ResourceId(resource), NEKT.name)


def _revoked(subject: str, role: str, resource: str) -> c.RoleRevoked:
    return c.RoleRevoked(PrincipalId(subject), role, ResourceId(resource))


def _joined(root: str, user: str, role: str) -> tuple[c.Change, ...]:
    return c.PrincipalAdded(PrincipalId(user), "user"), _assigned(user, role, root)


def _org_roles(world: World, user: str, root: str) -> list[str]:
    held = world.control.snapshot.assignments.get(PrincipalId(user), {})
    return [role for role, place in held if place == root]


# Steps of the system: what they state holds.

STATED: Mapping[str, Callable[[World, Body], Sequence[c.Change]]] = {
    "grant": lambda _, s: (_assigned(s["to"], s["role"], s["on"]),),
    "revoke": lambda _, s: (_revoked(s["from"], s["role"], s["on"]),),
    "add_member": lambda _, s: (c.MemberAdded(GroupId(s["group"]), PrincipalId(s["user"])),),
    "remove_member": lambda _, s: (c.MemberRemoved(GroupId(s["group"]), PrincipalId(s["user"])),),
    "set_org_role": lambda w, s: (
        *(_revoked(s["user"], role, s["on"]) for role in _org_roles(w, s["user"], s["on"])),
        _assigned(s["user"], s["role"], s["on"]),
    ),
    "join": lambda _, s: _joined(s["of"], s["user"], s.get("role", "member")),
    "leave": lambda _, s: (c.PrincipalRemoved(PrincipalId(s["user"])),),
    "create": lambda w, s: tuple(w.made(s)),
    "create_token": lambda _, s: (c.TokenIssued(TokenId(s["id"]), PrincipalId(s["by"])),),
}

# Commands: steps with an actor, and the questions that are about one.

COMMANDS: Mapping[str, Callable[[World, Body], Sequence[Command]]] = {
    "grant": lambda w, s: (AssignRole(PrincipalId(s["to"]), s["role"], w.resource(s["on"])[1]),),
    "revoke": lambda w, s: (RevokeRole(PrincipalId(s["from"]), s["role"], w.resource(s["on"])[1]),),
    "change_grant": lambda w, s: (
        RevokeRole(PrincipalId(s["of"]), s["role"], w.resource(s["on"])[1]),
        AssignRole(PrincipalId(s["of"]), s["new_role"], w.resource(s["on"])[1]),
    ),
    "set_org_role": lambda w, s: (
        AssignRole(PrincipalId(s["user"]), s["role"], ResourceId(s["on"])),
        *(RevokeRole(PrincipalId(s["user"]), role, ResourceId(s["on"])) for role in _org_roles(w, s["user"], s["on"])),
    ),
    "add_member": lambda _, s: (ChangeMembership(GroupId(s["group"]), PrincipalId(s["user"]), member=True),),
    "remove_member": lambda _, s: (ChangeMembership(GroupId(s["group"]), PrincipalId(s["user"]), member=False),),
    "rename": lambda _, s: (RenameGroup(GroupId(s["on"]), "renamed"),),
    "create group": lambda _, s: (CreateGroup(GroupId(s.get("id", NEW)), "new"),),
    "add_user": lambda _, s: (AddPrincipal(PrincipalId(s["user"]), "user", s["user"], s["role"]),),
    "invite_user": lambda _, s: (AddPrincipal(PrincipalId(NEW), "user", s["email"], s["role"]),),
    "leave": lambda _, s: (RemovePrincipal(PrincipalId(s["user"])),),
    "create_token": lambda _, s: (IssueToken(TokenId(s["id"]), "secret", PrincipalId(s["by"])),),
}


def perform(world: World, step: Body) -> None:
    """Do one step of `given`. Raises `CommandError` if its actor may not."""
    kind, body = next((kind, body) for kind, body in step.items() if kind != "as")
    if kind == "create_token" and "only" in body:
        raise NotYetError("narrowed token")
    known = COMMANDS if "as" in step else STATED
    if kind not in known:
        raise NotYetError(f"step {kind}")
    if "as" in step:
        for command in COMMANDS[kind](world, body):
            world.control.execute(command, world.caller(step["as"]))
    else:
        world.write(*STATED[kind](world, body))
    if kind == "create_token":
        world.token(body["id"], body["by"])


def answer(world: World, ask: Body) -> bool:
    """Say whether the system would accept the call now."""
    action, given = ask["action"], ask["with"]
    if action == "create":
        action = f"create {given['type']}"
    if action in COMMANDS:
        body = {"on": ask["resource"], "group": ask["resource"], **given}
        return all(_accepts(world, ask["actor"], command) for command in COMMANDS[action](world, body))
    caller = world.caller(ask["actor"])
    if action == "execute_query":
        questions = [Question(caller, "table.select", world.resource(id)[1]) for id in given["reads"]]
    else:
        questions = list(_questions(world, caller, action, ask))
    return all(world.control.ask(question).allowed for question in questions)


def _accepts(world: World, actor: str, command: Command) -> bool:
    try:
        world.control.preview(command, world.caller(actor))
    except CommandError:
        return False
    return True


def _questions(world: World, caller: Caller, action: str, ask: Body) -> Iterator[Question]:
    """Return the canonical questions that one action of the suite stands for, by `actions.yaml`."""
    on = dict(_touched(world, ask["resource"], ask["with"]))
    kind, _ = world.resource(ask["resource"])
    known = False
    for each in ACTIONS.values():
        place, id = world.resource(ask["resource"], *each.on)
        if each.nekt == action and place in each.on:
            known = True
            yield Question(caller, each.name, id, on=on)
    if not known:
        raise NotYetError(f"action {action} on {kind}")


def _touched(world: World, resource: str, given: Body) -> Iterator[tuple[str, tuple[ResourceId, ...]]]:
    facts = world.control.snapshot
    if "inputs" in given:
        yield "inputs", tuple(map(ResourceId, given["inputs"]))
    outputs = given.get("outputs", [given["output"]] if "output" in given else [])
    if outputs:
        layers = (each["new_table_in"] if isinstance(each, dict) else facts.resources[each].parent for each in outputs)
        yield "output_layers", tuple(map(ResourceId, layers))
    if "stream" in given:
        edges = facts.resources[ResourceId(resource)].relations["outputs"]
        yield "outputs", tuple(edge.target for edge in edges if edge.name == given["stream"])


def run(case: Body, source: Body) -> Outcome:
    """Run one case on a fresh world."""
    try:
        world = World(source)
        for step in case["given"]:
            perform(world, step)
        got = "allow" if answer(world, case["ask"]) else "deny"
    except NotYetError as reason:
        return Outcome(case["id"], "not yet", str(reason))
    except CommandError as refusal:
        return Outcome(case["id"], "wrong", f"a step was refused: {refusal}")
    exact = got == case["expect"]
    return Outcome(case["id"], "exact" if exact else "wrong", f"{got} instead of {case['expect']}: {case['note']}")


def run_all(suite: Path = SUITE) -> list[Outcome]:
    """Run every `nekt` case of a suite."""
    source = yaml.safe_load((suite / "worlds" / "nekt.yaml").read_text())
    return [run(json.loads(line), source) for line in (suite / "cases" / "nekt.jsonl").read_text().splitlines()]


def report(outcomes: Sequence[Outcome]) -> str:
    """Return the count, the reasons of what is not there yet, and what is wrong."""
    counts = Counter(each.verdict for each in outcomes)
    reasons = Counter(each.reason for each in outcomes if each.verdict == "not yet")
    lines = [f"nekt: {counts['exact']} exact, {counts['wrong']} wrong, {counts['not yet']} not yet"]
    lines += [f"  not yet: {reason} ({number})" for reason, number in reasons.most_common()]
    lines += [f"  wrong: {each.case} {each.reason}" for each in outcomes if each.verdict == "wrong"]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(report(run_all()) + "\n")
