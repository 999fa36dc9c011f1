"""The kept reach of principals with many teams: after every change, it decides as the reference does."""

from collections.abc import Iterator, Mapping
from random import Random

import pytest

from headgate.decision.engine import holdings
from headgate.decision.engine.engine import Engine
from headgate.decision.reference import decide
from headgate.decision.types import Question
from headgate.facts import changes as c
from headgate.facts.caller import Caller
from headgate.facts.fold import fold
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import Snapshot
from headgate.model.load import load_model
from tests.fakes.small_organization import ACTIONS

TEXT = """
model: m
version: 1
types:
  organization: {under: []}
  group: {under: [organization]}
  team: {under: [organization]}
  database: {under: [organization]}
  table: {under: [database]}
roles:
  owner: {on: [organization, team], to: [user]}
  assignee: {on: [team], to: [user, group, team]}
  reader: {on: [database, table], to: [user, team], actions: {table: [select], database: [describe]}}
members: {team: [assignee]}
spread:
  - {roles: [owner], from: [organization]}
  - {roles: [reader], from: [database]}
  - {roles: [reader], from: [table], up: database}
assign:
  - {holder: owner, roles: [owner, assignee], on: [organization, team]}
  - {holder: owner, roles: [reader], on: [database, table]}
"""
MODELS = {"m": load_model(TEXT, ACTIONS, "m.yaml", ())}
TEAMS = tuple(ResourceId(f"t{number}") for number in range(10))
TABLES = tuple(ResourceId(f"x{number}") for number in range(6))
ANN, CREW = PrincipalId("ann"), GroupId("crew")
SUBJECTS: tuple[SubjectId, ...] = (ANN, CREW, *TEAMS)


def beginning() -> Snapshot:
    """Return an organization with teams and tables, and one user in a group."""
    changes: list[c.Change] = [c.OrganizationCreated(ResourceId("o"), "m", ""), c.PrincipalAdded(ANN, "user")]
    changes += [c.GroupCreated(CREW), c.MemberAdded(CREW, ANN)]
    changes += [c.ResourceCreated(each, "team", ResourceId("o"), each) for each in TEAMS]
    for database in (ResourceId("d0"), ResourceId("d1")):
        changes.append(c.ResourceCreated(database, "database", ResourceId("o"), database))
    changes += [c.ResourceCreated(each, "table", ResourceId(f"d{at % 2}"), each) for at, each in enumerate(TABLES)]
    changes += [c.RoleAssigned(ANN, "assignee", TEAMS[0], "m"), c.RoleAssigned(CREW, "assignee", TEAMS[1], "m")]
    changes += [c.RoleAssigned(TEAMS[at], "assignee", TEAMS[(at * 3 + 2) % 10], "m") for at in range(10)]
    return fold(Snapshot(), changes, 0)


def draw_changes(random: Random, facts: Snapshot) -> Iterator[c.Change]:
    """Yield one random change: of a membership, a reader, a group, or the existence of a team."""
    # Sorted, because the order of persistent maps depends on the process.
    held = sorted((subject, *key) for subject, keys in facts.assignments.items() for key in keys)
    kind = random.randrange(10)
    if kind < 4 and held:
        yield c.RoleRevoked(*random.choice(held))
    elif kind == 4 and len([each for each in TEAMS if each in facts.resources]) > 5:
        yield c.ResourceDeleted(random.choice([each for each in TEAMS if each in facts.resources]))
    elif kind == 5:
        is_member = CREW in facts.groups_of(ANN)
        yield c.MemberRemoved(CREW, ANN) if is_member else c.MemberAdded(CREW, ANN)
    else:
        yield draw_assignment(random, facts)


def draw_assignment(random: Random, facts: Snapshot) -> c.RoleAssigned:
    """Return a random assignment; some begin or end later."""
    there = [each for each in (*TEAMS, *TABLES, ResourceId("d0")) if each in facts.resources]
    subjects = [each for each in SUBJECTS if not each.startswith("t") or each in facts.resources]
    place, subject = random.choice(there), random.choice(subjects)
    role = random.choice(("assignee", "assignee", "owner")) if place in TEAMS else "reader"
    return c.RoleAssigned(
        subject, role, place, "m", None, random.choice((*(None,) * 5, 5.0)), random.choice((*(None,) * 5, 2.0))
    )


def decisions(engine: Engine, now: float) -> Mapping[tuple[str, ResourceId], bool]:
    """Return the decisions of the engine for the user, by action and resource."""
    asked = [("table.select", each) for each in TABLES] + [("database.describe", ResourceId("d0"))]
    return {(action, id): engine.check(Question(Caller(ANN), action, id), now).allowed for action, id in asked}


@pytest.mark.parametrize("seed", range(60))
def test_a_reach_that_is_updated_decides_as_the_reference(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holdings, "MANY_TEAMS", 1)
    random, facts, now = Random(seed), beginning(), 0.0  # noqa: S311 (no secrets)
    engine = Engine(MODELS, facts)
    for _ in range(80):
        changes = tuple(draw_changes(random, facts))
        facts = fold(facts, changes, facts.revision + 1)
        engine = engine.advance(changes, facts)
        now += random.choice((*(0.0,) * 9, 1.0))
        if random.random() < (0.15, 0.3, 0.7)[seed % 3]:  # several changes may pass between two questions
            found = decisions(engine, now)
            assert found == {
                (action, id): decide(MODELS, facts, Question(Caller(ANN), action, id), now).allowed
                for action, id in found
            }
            assert set(engine.list_resources(Caller(ANN), "table.select", now)) == {
                id for (action, id), allowed in found.items() if allowed and action == "table.select"
            }
            for id in TABLES:
                assert (ANN in engine.list_principals("table.select", id, now)) == found["table.select", id]


def test_a_team_that_is_left_loses_a_role_and_is_joined_again_gives_that_role_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(holdings, "MANY_TEAMS", 1)
    member, team, table = (ANN, "assignee", TEAMS[3], "m"), TEAMS[3], TABLES[0]
    facts = fold(beginning(), (c.RoleAssigned(*member), c.RoleAssigned(team, "reader", table, "m")), 1)
    engine = Engine(MODELS, facts)
    assert decisions(engine, 0.0)["table.select", table]

    for change in (c.RoleRevoked(ANN, "assignee", team), c.RoleRevoked(team, "reader", table), c.RoleAssigned(*member)):
        facts = fold(facts, (change,), facts.revision + 1)
        engine = engine.advance((change,), facts)
    assert not decisions(engine, 0.0)["table.select", table]


def test_the_random_changes_often_keep_a_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check of the test above: reaches are updated, and not only built."""
    monkeypatch.setattr(holdings, "MANY_TEAMS", 1)
    updated: list[int] = []
    update = holdings.update_reach

    def count(*given: object) -> object:
        reach = update(*given)  # pyright: ignore[reportArgumentType]
        updated.append(len(reach.subjects))
        return reach

    monkeypatch.setattr(holdings, "update_reach", count)
    for seed in range(10):
        test_a_reach_that_is_updated_decides_as_the_reference(seed, monkeypatch)

    assert len(updated) > 100
    assert max(updated) > 5
