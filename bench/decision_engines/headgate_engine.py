"""Headgate's own engine, in process, under the model `nekt`."""

from collections.abc import Iterator
from importlib.resources import files
from operator import attrgetter
from typing import ClassVar

from immutables import Map
from typing_extensions import override

from headgate.decision.conditions import CONDITIONS
from headgate.decision.engine.engine import Engine
from headgate.decision.types import Question as Asked
from headgate.facts.bulk_index import build_snapshot, facts_of
from headgate.facts.caller import Caller
from headgate.facts.changes import Change, Edge, RoleAssigned, RoleRevoked
from headgate.facts.checkpoint import dump_checkpoint, load_checkpoint
from headgate.facts.fold import BUILT_IN, fold
from headgate.facts.ids import GroupId, PrincipalId, ResourceId
from headgate.facts.snapshot import Assignment, Group, Principal, Resource, Snapshot
from headgate.model.load import load_model
from headgate.model.vocabulary import load_actions

from .engine import ChangingEngine, Check, List
from .oracle import Question
from .organization import LEVELS, Grant, Organization

_FILES = files("headgate.model")
_NEKT = load_model(
    (_FILES / "models" / "nekt.yaml").read_text(),
    load_actions((_FILES / "actions.yaml").read_text()),
    "nekt.yaml",
    CONDITIONS,
)
NOW = 0.0
_ROOT, _PROJECT, _LAKE, _ALL = (ResourceId(name) for name in ("organization", "project", "lake", "All"))
ON_TABLE = {"viewer": "table.select", "editor": "table.insert"}
_ON_PIPELINE = {"viewer": "query.describe", "editor": "query.edit"}


class HeadgateEngine(ChangingEngine):
    """Layers are databases, pipelines are queries, all users are members; loaded from a checkpoint."""

    name: ClassVar[str] = "headgate"

    @classmethod
    @override
    def prepare(cls, organization: Organization) -> bytes:
        """Return a checkpoint."""
        return dump_checkpoint(snapshot_of(organization))

    @override
    def load(self, prepared: bytes) -> None:
        """Load the checkpoint; the engine compiles at each question what it needs."""
        self._engine = Engine({_NEKT.name: _NEKT}, load_checkpoint(prepared))

    @override
    def table(self, question: Question) -> Check:
        """Check once."""
        return self._check(question.user, ON_TABLE[question.level], question.resource)

    @override
    def pipeline(self, question: Question) -> Check:
        """Check once: the model lets the weakest permission decide."""
        return self._check(question.user, _ON_PIPELINE[question.level], question.resource)

    def _check(self, user: str, action: str, resource: str) -> Check:
        asked = Asked(Caller(PrincipalId(user)), action, ResourceId(resource))
        return lambda: self._engine.check(asked, NOW).allowed

    @override
    def readable(self, user: str) -> List:
        """List the resources."""
        caller = Caller(PrincipalId(user))
        return lambda: self._engine.list_resources(caller, ON_TABLE[LEVELS[0]], NOW)

    @override
    def readers(self, table: str) -> List:
        """List the principals."""
        return lambda: self._engine.list_principals(ON_TABLE[LEVELS[0]], ResourceId(table), NOW)

    @override
    def revoke(self, grant: Grant) -> Check:
        """Apply the change, and advance the engine to the facts after it."""
        revoked = RoleRevoked(PrincipalId(grant.subject), grant.level, ResourceId(grant.place))
        check = self._check(grant.subject, ON_TABLE[LEVELS[0]], grant.place)

        def call() -> bool:
            self._advance(revoked)
            return check()

        return call

    @override
    def restore(self, grant: Grant) -> None:
        """Assign the role again."""
        self._advance(RoleAssigned(PrincipalId(grant.subject), grant.level, ResourceId(grant.place), _NEKT.name))

    def _advance(self, change: Change) -> None:
        before = self._engine.facts
        self._engine = self._engine.advance((change,), fold(before, (change,), before.revision + 1))


def snapshot_of(organization: Organization) -> Snapshot:
    """Return the organization's facts."""
    everybody = frozenset(PrincipalId(user) for user in organization.users)
    members = {GroupId(group): frozenset(map(PrincipalId, there)) for group, there in organization.groups.items()}
    bare = Snapshot(
        revision=1,
        organization=_ROOT,
        model=_NEKT.name,
        model_hashes=Map({_NEKT.name: _NEKT.hash}),
        resources=Map((each.id, each) for each in _resources(organization)),
        principals=Map((user, Principal("user")) for user in everybody),
        groups=Map(
            {GroupId(_ALL): Group(everybody, built_in=True)}
            | {group: Group(there, built_in=False) for group, there in members.items()}
        ),
    )
    return build_snapshot(facts_of(bare), sorted(_assignments(organization), key=attrgetter("resource", "role")))


def _resources(organization: Organization) -> Iterator[Resource]:
    yield _resource(_ROOT, "organization", _ROOT)
    yield _resource(_PROJECT, "project", _ROOT)
    yield _resource(_LAKE, "lake", _PROJECT)
    yield Resource(_ALL, "group", _ROOT, _ALL, None, {}, {BUILT_IN: ("true",)})
    yield from (_resource(group, "group", _ROOT) for group in organization.groups)
    yield from (_resource(layer, "database", _LAKE) for layer in organization.layers)
    yield from (_resource(table, "table", layer) for table, layer in organization.layer_of.items())
    for name, edges in organization.pipelines.items():
        written, *read = (Edge(ResourceId(edge.table), edge.enabled) for edge in edges)
        layer = Edge(ResourceId(organization.layer_of[written.target]))
        relations = {"outputs": (written,), "inputs": tuple(read), "output_layers": (layer,)}
        yield Resource(ResourceId(name), "query", _PROJECT, name, None, relations)


def _resource(id: str, type: str, parent: str) -> Resource:
    return Resource(ResourceId(id), type, ResourceId(parent), id, None, {})


def _assignments(organization: Organization) -> Iterator[Assignment]:
    for user in organization.users:
        yield Assignment(PrincipalId(user), "member", _ROOT, _NEKT.name, None, None)
    for grant in organization.grants:
        yield Assignment(PrincipalId(grant.subject), grant.level, ResourceId(grant.place), _NEKT.name, None, None)
