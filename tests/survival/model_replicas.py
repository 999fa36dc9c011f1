"""Replicas of a deployment with an organization under the model `harbour`, each over a connection of its own to one store."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headgate.control.deployment.bootstrap import OrganizationSpec, create_organization, open_organizations
from headgate.control.deployment.operators import add_operator
from headgate.control.identity.principals import AddPrincipal, SignUp
from headgate.control.kernel.metadata import INTERNAL
from headgate.control.models.change import RequestedModel, build_change, change_model, preview_change
from headgate.control.models.commands import InstallModel
from headgate.control.models.library import load_source
from headgate.control.organizations.organization import Organization, Organizations
from headgate.control.resources.commands import CreateResource
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.fold import fold
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Snapshot
from headgate.store import open_stores
from tests.control.models.model_files import harbour

ANN, BEN = PrincipalId("ann"), PrincipalId("ben")
OPERATORS: Final = (PrincipalId("olga"), PrincipalId("omar"))
PORT, CARGO = ResourceId("port"), ResourceId("cargo")
SOURCES: Final = {1: harbour(1), 2: harbour(2, "insert"), 3: harbour(3, "delete_rows")}
"""The versions of the model. Each lets Ben do other actions on the cargo."""
PIER: Final = harbour(1, "update").replace("model: harbour", "model: pier")
"""Another model, which lets Ben do still another action."""
CHECKED: Final = ("table.insert", "table.delete_rows", "table.update")
"""The actions by which the models and versions differ."""
_DECIDING: Final = {
    (): ("harbour", 1),
    ("table.insert",): ("harbour", 2),
    ("table.delete_rows",): ("harbour", 3),
    ("table.update",): ("pier", 1),
}
"""Those of the actions that Ben may do -> the model and the version that decide so."""


@dataclass(frozen=True)
class ModelReplica:
    """The deployment as one replica has it, and the operator that uses this replica."""

    organizations: Organizations
    operator: Caller

    @property
    def port(self) -> Organization:
        """The organization, in its newest state."""
        self.organizations.refresh()
        return self.organizations.open(PORT)

    def confirm(self, wanted: RequestedModel) -> str:
        """Return the confirmation of a change of the organization, as a dry run shows it."""
        return preview_change(self.port, build_change(self.organizations, self.port, wanted)).confirmation

    def change(self, wanted: RequestedModel, confirmation: str | None = None) -> None:
        """Change the model of the organization; without a confirmation, with that of a dry run."""
        confirmed = confirmation or self.confirm(wanted)
        change_model(self.organizations, self.port, wanted, confirmed, self.operator)

    def decides_by(self) -> tuple[str, int]:
        """Return the model and the version by which the replica decides."""
        answers = self.port.control
        return deciding_model(lambda action: answers.ask(Question(Caller(BEN), action, CARGO)).allowed)


def deciding_model(may: Callable[[str], bool]) -> tuple[str, int]:
    """Return the model and the version by which Ben may do the actions that he may do."""
    return _DECIDING[tuple(filter(may, CHECKED))]


@contextmanager
def opened(store: str | Path, operator: PrincipalId = OPERATORS[0]) -> Iterator[ModelReplica]:
    """Open a replica on the store: a data folder, or the URL of a PostgreSQL database."""
    with closing(open_stores(store)) as stores:
        yield ModelReplica(open_organizations(stores, time.time, "nekt"), Caller(operator))


@contextmanager
def two_replicas(store: str | Path) -> Iterator[tuple[ModelReplica, ModelReplica]]:
    """Create the deployment with the organization in its first version; open it by two replicas, each for one operator."""
    with ExitStack() as stack:
        first, second = (stack.enter_context(opened(store, each)) for each in OPERATORS)
        create_operators(first.organizations)
        create_port(first.organizations)
        second.organizations.refresh()
        yield first, second


def create_operators(organizations: Organizations) -> None:
    """Create the operators."""
    deployment = organizations.deployment.control
    for operator in OPERATORS:
        deployment.execute(SignUp(operator, operator), None)
        add_operator(deployment, operator, INTERNAL)


def create_port(organizations: Organizations) -> Organization:
    """Create the models, and the organization in the first version of its model."""
    install(organizations, SOURCES[1])
    port = create_organization(organizations, OrganizationSpec(PORT, "port", ANN, "Ann", "harbour"))
    for command in (
        CreateResource(ResourceId("north"), "database", ResourceId("port/project/lake"), "north"),
        CreateResource(CARGO, "table", ResourceId("north"), "grain"),
        AddPrincipal(BEN, "Ben", "docker", CARGO),
    ):
        port.control.execute(command, None)
    for source in (SOURCES[2], SOURCES[3], PIER):
        install(organizations, source)
    return port


def install(organizations: Organizations, source: str) -> None:
    """Install a model."""
    organizations.deployment.control.execute(InstallModel(load_source(source, "model.yaml")), None)


def model_in_log(organizations: Organizations) -> tuple[str, int]:
    """Return the home model of the organization and its version, read from all entries of the stored log."""
    facts = Snapshot()
    for entry in organizations.stores.log(PORT).entries():
        facts = fold(facts, entry.changes, entry.revision)
    found = organizations.models.find(facts.model_hashes[facts.model])
    assert found is not None
    return found.model.name, found.model.version
