from collections.abc import Mapping

import pytest

from headgate.control.control import Control
from headgate.control.deployment.bootstrap import open_organizations
from headgate.control.deployment.operators import add_operator
from headgate.control.identity.principals import SignUp
from headgate.control.kernel.command import PermissionDeniedError
from headgate.control.kernel.errors import AlreadyExistsError, InvalidError, NotFoundError
from headgate.control.kernel.metadata import INTERNAL
from headgate.control.models.commands import InstallModel, RemoveModel
from headgate.control.models.installations import list_installed, require_installed
from headgate.control.models.library import load_source
from headgate.control.models.shipped_models import shipped_names
from headgate.control.organizations.organization import Organizations
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId
from headgate.facts.snapshot import InstalledModel
from tests.control.models.model_files import HARBOUR, harbour
from tests.fakes.store import FakeStores

OLGA, BEN = PrincipalId("olga"), PrincipalId("ben")


class World:
    """A deployment with the operator Olga and the user Ben."""

    def __init__(self) -> None:
        self.organizations: Organizations = open_organizations(FakeStores(), lambda: 1.0, "nekt")
        self.control: Control = self.organizations.deployment.control
        for user in (OLGA, BEN):
            self.control.execute(SignUp(user, user), None)
        add_operator(self.control, OLGA, INTERNAL)

    def install(self, source: str, by: PrincipalId | None = OLGA) -> None:
        model = load_source(source, "model.yaml")
        self.control.execute(InstallModel(model), Caller(by) if by else None)

    @property
    def installed(self) -> Mapping[str, InstalledModel]:
        return list_installed(self.control.snapshot)


@pytest.fixture
def world() -> World:
    return World()


def test_a_new_deployment_has_the_shipped_models_installed(world: World) -> None:
    assert tuple(world.installed) == shipped_names()
    assert all(each.is_shipped for each in world.installed.values())


def test_an_operator_installs_a_model_and_its_next_version(world: World) -> None:
    world.install(harbour(1))
    world.install(harbour(2, "insert"))

    found = require_installed(world.control.snapshot, world.organizations.models, "harbour")
    assert (found.model.version, len(world.installed["harbour"].versions)) == (2, 2)


def test_an_installed_version_is_installed_again_without_effect(world: World) -> None:
    world.install(harbour(1))
    before = world.control.snapshot.installed_models

    world.install(harbour(1))
    assert world.control.snapshot.installed_models == before


def test_an_earlier_version_is_installed_again(world: World) -> None:
    for source in (harbour(1), harbour(2, "insert"), harbour(1)):
        world.install(source)

    assert require_installed(world.control.snapshot, world.organizations.models, "harbour").model.version == 1


def test_another_content_needs_a_higher_version(world: World) -> None:
    world.install(harbour(3))

    for version in (1, 3):
        with pytest.raises(
            AlreadyExistsError, match=r"states version \d of .* but version 3 is installed, .* write `version: 4`"
        ):
            world.install(harbour(version, "insert"))


def test_a_version_number_names_one_content_also_after_an_earlier_version_is_current_again(world: World) -> None:
    for source in (harbour(1), harbour(2, "insert"), harbour(1)):
        world.install(source)

    with pytest.raises(AlreadyExistsError, match="write `version: 3`"):
        world.install(harbour(2, "update"))


def test_a_user_without_the_role_of_an_operator_installs_and_removes_no_model(world: World) -> None:
    with pytest.raises(PermissionDeniedError):
        world.install(harbour(1), by=BEN)
    with pytest.raises(PermissionDeniedError):
        world.control.execute(RemoveModel("nekt"), Caller(BEN))


def test_the_name_of_the_model_of_the_deployment_is_reserved(world: World) -> None:
    with pytest.raises(
        InvalidError, match="the name `deployment` is that of the access model of the deployment itself"
    ):
        world.install(HARBOUR.replace("model: harbour", "model: deployment"))


def test_a_removed_model_cannot_be_chosen(world: World) -> None:
    world.install(harbour(1))
    world.control.execute(RemoveModel("harbour"), Caller(OLGA))

    assert "harbour" not in world.installed
    with pytest.raises(InvalidError, match=r"`harbour` is not installed; choose from `datamesh`, `nekt`, .*"):
        require_installed(world.control.snapshot, world.organizations.models, "harbour")


def test_a_removed_model_is_installed_again(world: World) -> None:
    world.install(harbour(1))
    world.control.execute(RemoveModel("harbour"), None)

    world.install(harbour(1))
    assert "harbour" in world.installed


def test_a_model_in_use_is_not_removed(world: World) -> None:
    world.install(harbour(1))

    with pytest.raises(
        InvalidError, match="`harbour` is in use in `a`, `b`, `c` and 1 more; choose another model there"
    ):
        world.control.execute(RemoveModel("harbour", ("a", "b", "c", "d")), None)


@pytest.mark.parametrize("model", ["nosuch", "removed"])
def test_a_model_that_is_not_installed_is_not_removed(world: World, model: str) -> None:
    world.install(HARBOUR.replace("model: harbour", "model: removed"))
    world.control.execute(RemoveModel("removed"), None)

    with pytest.raises(NotFoundError, match=f"the access model `{model}` is not installed"):
        world.control.execute(RemoveModel(model), None)


def test_a_removed_shipped_model_stays_removed_when_headgate_starts_again(world: World) -> None:
    world.control.execute(RemoveModel("y42"), None)

    again = open_organizations(world.organizations.stores, lambda: 2.0, "nekt")
    assert "y42" not in list_installed(again.deployment.control.snapshot)


def test_a_start_of_headgate_does_not_replace_a_model_of_an_operator(world: World) -> None:
    world.install(HARBOUR.replace("model: harbour", "model: y42").replace("version: 1", "version: 99"))

    again = open_organizations(world.organizations.stores, lambda: 2.0, "nekt")
    assert not list_installed(again.deployment.control.snapshot)["y42"].is_shipped
    assert require_installed(again.deployment.control.snapshot, again.models, "y42").model.version == 99
