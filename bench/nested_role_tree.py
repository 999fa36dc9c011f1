"""Measurement of `bench/nested_roles`: a tree of roles that are members of roles, and a user at its bottom or its top."""

import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter

from bench.options import chosen_sizes
from headgate.control.kernel.vocabulary import shipped_vocabulary
from headgate.decision.conditions import CONDITIONS
from headgate.decision.engine.engine import Engine
from headgate.decision.types import Question
from headgate.facts import changes as c
from headgate.facts.caller import Caller
from headgate.facts.fold import fold
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Snapshot
from headgate.model.load import load_model
from headgate.model.model import Model

MICROSECONDS_AT_MOST, MILLISECONDS_AT_MOST = 20, 1

MODEL = """
model: nested
version: 1
types:
  organization: {under: []}
  role: {own: true, under: [organization]}
  database: {under: [organization]}
  table: {under: [database]}
roles:
  owner: {on: [organization]}
  assignee: {on: [role], to: [user, role]}
  reader: {on: [database, table], to: [user, role], actions: {table: [select]}}
members: {role: [assignee]}
spread:
  - {roles: [owner], from: [organization]}
  - {roles: [reader], from: [database]}
assign:
  - {holder: owner, roles: [owner], on: [organization]}
  - {holder: owner, roles: [assignee, reader], on: [role, database, table]}
"""
ROOT, DATABASE, USER = ResourceId("o"), ResourceId("d"), PrincipalId("u")


@dataclass(frozen=True, slots=True)
class Effort:
    """Sizes of the measurement; each is an option of the command line."""

    roles: int = 10_000
    """Roles in the tree."""
    depth: int = 8
    """Roles of a chain from the top to the bottom of the tree."""
    checks: int = 5_000
    """Measured checks of each user."""
    revokes: int = 100
    """Measured revokes of each user."""


QUICK = Effort(roles=200, checks=10, revokes=3)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    effort, quick = chosen_sizes("bench/nested_roles", __doc__, Effort(), QUICK, arguments)
    model = load_model(MODEL, shipped_vocabulary(), "nested.yaml", CONDITIONS)
    print(f"{effort.roles:,} roles, nested {effort.depth} deep")
    missed = [_measure(model, effort, has_all=has_all) for has_all in (False, True)]
    return int(any(missed) and not quick)


def _measure(model: Model, effort: Effort, *, has_all: bool) -> bool:
    """Print the figures for a user with the roles of one chain, or with all roles; return whether a target is missed."""
    width, tree = _tree(effort)
    chains = [(parent, child) if has_all else (child, parent) for parent, child in tree]
    last = len(tree)
    own = 0 if has_all else last
    facts = fold(Snapshot(), tuple(_begin(model, effort.roles, chains, own)), 1)
    question = Question(Caller(USER), "table.select", ResourceId(f"t{last if has_all else 0}"))
    engine = Engine({model.name: model}, facts)
    started = perf_counter()
    if not engine.check(question, 0).allowed:
        raise SystemExit("the user does not have the role that was assigned to it: the measured tree is wrong")
    first = perf_counter() - started
    gc.freeze()
    checks = [_time_check(engine, question) for _ in range(effort.checks)]
    revoked = chains[-effort.revokes :] if has_all else chains[-1:] * effort.revokes
    revokes = list(_time_revokes(engine, question, model, revoked))
    microseconds, milliseconds = median(checks) * 1e6, median(revokes) * 1e3
    user = (
        f"a user with all roles, each in {width} others"
        if has_all
        else f"a user with the {effort.depth} roles of a chain"
    )
    print(f"{user}: first check {first * 1e3:.1f} ms")
    print(f"  check                  median {microseconds:7.2f} µs (at most {MICROSECONDS_AT_MOST})")
    print(f"  revoke and fresh check median {milliseconds:7.2f} ms (at most {MILLISECONDS_AT_MOST})")
    return microseconds > MICROSECONDS_AT_MOST or milliseconds > MILLISECONDS_AT_MOST


def _tree(effort: Effort) -> tuple[int, list[tuple[int, int]]]:
    """Return the number of branches of a tree with all roles and this depth, and its edges from parents to children."""
    roles, levels = effort.roles, range(effort.depth)
    width = next(each for each in range(2, roles) if sum(each**level for level in levels) >= roles)
    return width, [((child - 1) // width, child) for child in range(1, roles)]


def _begin(model: Model, roles: int, chains: list[tuple[int, int]], own: int) -> Iterator[c.Change]:
    yield c.OrganizationCreated(ROOT, model.name, model.hash)
    yield c.PrincipalAdded(USER, "user")
    yield c.ResourceCreated(DATABASE, "database", ROOT, "d")
    for number in range(roles):
        role, table = ResourceId(f"r{number}"), ResourceId(f"t{number}")
        yield c.ResourceCreated(role, "role", ROOT, role)
        yield c.ResourceCreated(table, "table", DATABASE, table)
        yield c.RoleAssigned(role, "reader", table, model.name)
    for member, role in chains:
        yield c.RoleAssigned(ResourceId(f"r{member}"), "assignee", ResourceId(f"r{role}"), model.name)
    yield c.RoleAssigned(USER, "assignee", ResourceId(f"r{own}"), model.name)


def _time_check(engine: Engine, question: Question) -> float:
    started = perf_counter()
    engine.check(question, 0)
    return perf_counter() - started


def _time_revokes(engine: Engine, question: Question, model: Model, chains: list[tuple[int, int]]) -> Iterator[float]:
    """Yield the seconds of each revoke with the next check; the membership is assigned again after it."""
    for member, role in chains:
        subject, place = ResourceId(f"r{member}"), ResourceId(f"r{role}")
        revoked = c.RoleRevoked(subject, "assignee", place)
        started = perf_counter()
        facts = fold(engine.facts, (revoked,), engine.facts.revision + 1)
        engine = engine.advance((revoked,), facts)
        engine.check(question, 0)
        yield perf_counter() - started
        assigned = c.RoleAssigned(subject, "assignee", place, model.name)
        engine = engine.advance((assigned,), fold(facts, (assigned,), facts.revision + 1))
        engine.check(question, 0)
