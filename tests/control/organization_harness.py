"""An organization under each shipped model, created by the deployment's own commands. Ids are the names."""

from collections.abc import Mapping

import pytest

from headgate.control.access.assignments import AssignRole
from headgate.control.approvals.agreements import RequestAccess
from headgate.control.control import Control
from headgate.control.identity.groups import CreateGroup
from headgate.control.identity.principals import AddPrincipal, CreateServicePrincipal
from headgate.control.kernel.command import Command, CommandEffect
from headgate.control.kernel.errors import CommandError
from headgate.control.models.library import FixedModels
from headgate.control.models.shipped_models import shipped_models
from headgate.control.organizations.commands import CreateOrganization
from headgate.control.resources.commands import CreateResource
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import Edge
from headgate.facts.ids import GroupId, PrincipalId, ResourceId
from headgate.facts.snapshot import Snapshot
from headgate.model.model import Model
from tests.fakes.store import FakeStore

MODELS: Mapping[str, Model] = {each.model.name: each.model for each in shipped_models()}

ROOT, PROJECT, LAKE = (
    ResourceId("organization"),
    ResourceId("organization/project"),
    ResourceId("organization/project/lake"),
)
FOUNDER, ANN, BEN, EVE = PrincipalId("founder"), PrincipalId("ann"), PrincipalId("ben"), PrincipalId("eve")
PEOPLE = (ANN, BEN, EVE)
CREW = GroupId("crew")
BOT = PrincipalId("bot")


class OrganizationHarness:
    """One organization behind commands, with a clock that the test sets."""

    def __init__(self, model: str, *, tree: str | None = None) -> None:
        self.now = 1_000.0
        self.store = FakeStore()
        self.reopen()
        self.do(CreateOrganization(FOUNDER, "the founder", MODELS[model], MODELS[tree] if tree else None))

    def reopen(self) -> None:
        """Read the log again, like after a restart."""
        self.control = Control(self.store, FixedModels(MODELS), lambda: self.now)

    @property
    def facts(self) -> Snapshot:
        return self.control.snapshot

    def do(self, *commands: Command, by: Caller | PrincipalId | None = None) -> Snapshot:
        """Execute the commands, by default in the name of the deployment."""
        for command in commands:
            self.control.execute(command, Caller(by) if isinstance(by, str) else by)
        return self.facts

    def preview(self, command: Command, by: PrincipalId | None = None) -> CommandEffect:
        return self.control.preview(command, Caller(by) if by else None)

    def refuse(
        self,
        command: Command,
        error: type[CommandError],
        match: str | None = None,
        *,
        by: Caller | PrincipalId | None = None,
    ) -> None:
        """Check that the command is refused with this error, and that nothing was written."""
        before, bodies = self.store.head(), dict(self.store.bodies)
        with pytest.raises(CommandError, match=match) as refusal:
            self.do(command, by=by)
        assert type(refusal.value) is error, refusal.value
        assert self.store.head() == before
        assert self.store.bodies == bodies

    def may(self, who: PrincipalId, action: str, resource: str, **more: object) -> bool:
        question = Question(Caller(who), action, ResourceId(resource), **more)  # pyright: ignore[reportArgumentType]
        return self.control.ask(question).allowed

    def roles(self, subject: str, resource: str) -> set[str]:
        """Return the roles that are assigned to a subject on a resource."""
        held = self.facts.assignments.get(PrincipalId(subject), {})
        return {role for role, place, _ in held if place == resource}


def edges(*targets: str) -> tuple[Edge, ...]:
    return tuple(Edge(ResourceId(each)) for each in targets)


def resource(id: str, type: str, parent: str, **relations: str) -> CreateResource:
    """Return a command that creates a resource with its id as name, and with one edge for each relation."""
    named = {name: edges(target) for name, target in relations.items()}
    return CreateResource(ResourceId(id), type, ResourceId(parent), id, named)


def role(subject: str, name: str, place: str = ROOT) -> AssignRole:
    return AssignRole(PrincipalId(subject), name, ResourceId(place))


def nekt() -> OrganizationHarness:
    """Members ann, ben and eve; layers `raw` and `secret` with a table each; the group `crew`."""
    world = OrganizationHarness("nekt")
    world.do(*(AddPrincipal(each, f"{each}@acme.com", "member") for each in PEOPLE), CreateGroup(CREW, "the crew"))
    world.do(resource("raw", "database", LAKE), resource("flights", "table", "raw"))
    world.do(resource("secret", "database", LAKE), resource("salaries", "table", "secret"))
    return world


def y42() -> OrganizationHarness:
    """Organization members ann, ben and eve; a space with a module; the team `crew` and the key `bot`."""
    world = OrganizationHarness("y42")
    world.do(*(AddPrincipal(each, each, "member") for each in PEOPLE), CreateGroup(CREW, "the crew"))
    world.do(resource("space", "project", ROOT), resource("module", "module", "space"))
    world.do(CreateServicePrincipal(BOT, "the bot"))
    return world


def onehouse() -> OrganizationHarness:
    """Account members ann, ben and eve, the first two in the project; two databases of a lake, a cluster, `crew`, `bot`."""
    world = OrganizationHarness("onehouse")
    world.do(*(AddPrincipal(each, each, "member") for each in PEOPLE))
    world.do(resource("project", "project", ROOT), role(ANN, "member", "project"), role(BEN, "member", "project"))
    world.do(resource("lake", "lake", "project"), resource("cluster", "cluster", "project"))
    world.do(resource("one", "database", "lake"), resource("two", "database", "lake"))
    world.do(resource("table", "table", "one", services_cluster="cluster"))
    world.do(CreateGroup(CREW, "the crew"), CreateServicePrincipal(BOT, "the bot"))
    return world


def datamesh() -> OrganizationHarness:
    """Members ann, ben and eve; the domain `sales` with the teams `shop` and `web`, and `ops`; `product` with a `port`."""
    world = OrganizationHarness("datamesh")
    world.do(*(AddPrincipal(each, each, "member") for each in PEOPLE))
    world.do(resource("sales", "domain", ROOT), resource("shop", "team", "sales"), resource("web", "team", "sales"))
    world.do(resource("ops", "team", ROOT), resource("product", "data_product", ROOT, owner="shop"))
    world.do(resource("port", "output_port", "product"))
    return world


def request(id: str, consumer: str, purpose: str = "to know") -> RequestAccess:
    return RequestAccess(ResourceId(id), ResourceId("port"), PrincipalId(consumer), purpose)
