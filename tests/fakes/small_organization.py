"""A small world for decisions: an organization of people, tables and pipelines, built from changes.

The people are `owner`, `admin`, `member` and `other`, named after the role that they hold on the organization (the last
two are members), and `stranger`, a user of the organization without a role. There are two databases: `raw` with
`flights`, `planes` and the volume `files`, and `secret` with `salaries`. `load` is a source into `flights` and
`planes`, `delays` a query from `flights` into `planes`. Ids equal names.
"""

from collections.abc import Mapping
from importlib.resources import files

from headgate.control.control import Control
from headgate.control.kernel.vocabulary import shipped_vocabulary
from headgate.control.models.library import FixedModels
from headgate.decision.conditions import CONDITIONS
from headgate.decision.reference import decide
from headgate.decision.types import Decision, Question
from headgate.facts.caller import Caller
from headgate.facts.changes import (
    Change,
    Edge,
    GroupCreated,
    OrganizationCreated,
    PrincipalAdded,
    ResourceCreated,
    RoleAssigned,
    RunAsSet,
)
from headgate.facts.fold import fold
from headgate.facts.ids import GroupId, PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import Snapshot
from headgate.model.load import load_model
from tests.fakes.store import FakeStore

_MODELS = files("headgate.model")
ACTIONS = shipped_vocabulary()
NEKT, Y42, ONEHOUSE, DATAMESH = (
    load_model((_MODELS / "models" / f"{name}.yaml").read_text(), ACTIONS, f"{name}.yaml", CONDITIONS)
    for name in ("nekt", "y42", "onehouse", "datamesh")
)

MODELS = {NEKT.name: NEKT}

NOW = 1_000.0
ROOT, PROJECT, LAKE = ResourceId("organization"), ResourceId("project"), ResourceId("lake")
RAW, SECRET = ResourceId("raw"), ResourceId("secret")
FLIGHTS, PLANES, SALARIES = ResourceId("flights"), ResourceId("planes"), ResourceId("salaries")
FILES = ResourceId("files")
LOAD, DELAYS, PLACE = ResourceId("load"), ResourceId("delays"), ResourceId("place")
OWNER, ADMIN, MEMBER, OTHER = PrincipalId("owner"), PrincipalId("admin"), PrincipalId("member"), PrincipalId("other")
STRANGER = PrincipalId("stranger")
ALL, CREW = GroupId("All"), GroupId("crew")


def edges(*targets: ResourceId, enabled: bool = True) -> tuple[Edge, ...]:
    """Return edges to these resources, each named as its target."""
    return tuple(Edge(target, enabled, target) for target in targets)


def assigned(subject: SubjectId, role: str, resource: ResourceId, ends: float | None = None) -> RoleAssigned:
    """Return the assignment of a role of the shipped model."""
    return RoleAssigned(subject, role, resource, NEKT.name, None, ends)


PEOPLE: tuple[Change, ...] = (
    OrganizationCreated(ROOT, NEKT.name, NEKT.hash),
    GroupCreated(ALL, built_in=True),
    GroupCreated(CREW),
    *(PrincipalAdded(each, "user") for each in (OWNER, ADMIN, MEMBER, OTHER, STRANGER)),
    assigned(OWNER, "owner", ROOT),
    assigned(ADMIN, "admin", ROOT),
    assigned(MEMBER, "member", ROOT),
    assigned(OTHER, "member", ROOT),
)

LOAD_RELATIONS: Mapping[str, tuple[Edge, ...]] = {
    "outputs": edges(FLIGHTS, PLANES),
    "output_layers": (Edge(RAW, name="flights"), Edge(RAW, name="planes")),
    "connections": edges(PLACE),
}
DELAYS_RELATIONS: Mapping[str, tuple[Edge, ...]] = {
    "inputs": edges(FLIGHTS),
    "outputs": edges(PLANES),
    "output_layers": (Edge(RAW, name="planes"),),
}

THINGS: tuple[Change, ...] = (
    ResourceCreated(PROJECT, "project", ROOT, "default"),
    ResourceCreated(LAKE, "lake", PROJECT, "lake"),
    ResourceCreated(RAW, "database", LAKE, "raw"),
    ResourceCreated(SECRET, "database", LAKE, "secret"),
    ResourceCreated(FLIGHTS, "table", RAW, "flights"),
    ResourceCreated(PLANES, "table", RAW, "planes"),
    ResourceCreated(FILES, "volume", RAW, "files"),
    ResourceCreated(SALARIES, "table", SECRET, "salaries"),
    ResourceCreated(PLACE, "connection", PROJECT, "place"),
    ResourceCreated(LOAD, "source", PROJECT, "load", None, LOAD_RELATIONS),
    ResourceCreated(DELAYS, "query", PROJECT, "delays", None, DELAYS_RELATIONS),
    RunAsSet(LOAD, ADMIN),
    RunAsSet(DELAYS, ADMIN),
)


def snapshot(*more: Change) -> Snapshot:
    """Return the world with the added changes, at revision 1."""
    return fold(Snapshot(), (*PEOPLE, *THINGS, *more), 1)


def controlled(*more: Change) -> tuple[Control, FakeStore]:
    """Return the world behind a `Control`."""
    store = FakeStore()
    store.write(*PEOPLE, *THINGS, *more)
    return Control(store, FixedModels(MODELS), lambda: NOW), store


def ask(facts: Snapshot, caller: Caller | PrincipalId, action: str, resource: ResourceId, **more: object) -> Decision:
    """Return the decision on one question under the shipped model."""
    who = caller if isinstance(caller, Caller) else Caller(caller)
    return decide(MODELS, facts, Question(who, action, resource, **more), NOW)  # pyright: ignore[reportArgumentType]


def allows(facts: Snapshot, caller: Caller | PrincipalId, action: str, resource: ResourceId) -> bool:
    """Return whether one question is allowed."""
    return ask(facts, caller, action, resource).allowed
