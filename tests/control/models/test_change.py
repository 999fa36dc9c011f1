"""Upgrades and changes of the models of an organization."""

import pytest

from headgate.control.access.assignments import RevokeRole
from headgate.control.deployment.bootstrap import OrganizationSpec, create_organization, open_organizations
from headgate.control.deployment.operators import add_operator, remove_operator
from headgate.control.identity.principals import AddPrincipal, SignUp
from headgate.control.kernel.command import PermissionDeniedError
from headgate.control.kernel.errors import InvalidError, NotFoundError
from headgate.control.kernel.metadata import INTERNAL
from headgate.control.kernel.ports import LogWrite
from headgate.control.models import change
from headgate.control.models.change import (
    ConfirmationRequiredError,
    ModelChangePreview,
    RequestedModel,
    build_change,
    change_model,
    preview_change,
)
from headgate.control.models.change_commands import ChangeHomeModel, GovernProject, UpgradeModel
from headgate.control.models.commands import InstallModel
from headgate.control.models.library import load_source
from headgate.control.organizations.suspension import SuspendOrganization
from headgate.control.resources.commands import CreateResource
from headgate.decision.diff.compare import EvaluatedSide
from headgate.decision.diff.results import Impact
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.changes import RoleAssigned
from headgate.facts.ids import PrincipalId, ResourceId
from tests.control.models.model_files import harbour
from tests.fakes.store import FakeStores

ANN, BEN, CARGO = PrincipalId("ann"), PrincipalId("ben"), ResourceId("cargo")
PORT = ResourceId("port")
LAKE = ResourceId("port/project/lake")


class World:
    """A deployment with two versions of the model `harbour`, and an organization under the first one."""

    def __init__(self) -> None:
        self.organizations = open_organizations(FakeStores(), lambda: 1.0, "nekt")
        self.install(harbour(1))
        self.port = create_organization(self.organizations, OrganizationSpec(PORT, "port", ANN, "Ann", "harbour"))
        self.control = self.port.control
        for command in (
            CreateResource(ResourceId("north"), "database", LAKE, "north"),
            CreateResource(CARGO, "table", ResourceId("north"), "grain"),
            AddPrincipal(BEN, "Ben", "docker", CARGO),
        ):
            self.control.execute(command, None)
        self.install(harbour(2, "insert"))

    def install(self, source: str) -> None:
        self.organizations.deployment.control.execute(InstallModel(load_source(source, "harbour.yaml")), None)

    def preview(self, name: str, version: int | None = None) -> ModelChangePreview:
        return preview_change(self.port, build_change(self.organizations, self.port, RequestedModel(name, version)))

    def change(self, name: str, version: int | None = None) -> ModelChangePreview:
        confirmed = self.preview(name, version).confirmation
        return change_model(self.organizations, self.port, RequestedModel(name, version), confirmed)

    def confirm(self, wanted: RequestedModel) -> str:
        return preview_change(self.port, build_change(self.organizations, self.port, wanted)).confirmation

    def may(self, who: PrincipalId, action: str, place: ResourceId = CARGO) -> bool:
        return self.control.ask(Question(Caller(who), action, place)).allowed


@pytest.fixture
def world() -> World:
    return World()


class TestUpgrading:
    def test_a_preview_lists_the_decisions_that_an_upgrade_changes_and_changes_nothing(self, world: World) -> None:
        found = world.preview("harbour")

        flips = {(each.principal, each.ability.action, each.allowed) for each in found.impact.flips()}
        assert isinstance(found.command, UpgradeModel)
        assert flips == {(ANN, "table.insert", True), (BEN, "table.insert", True)}
        assert (found.lost, world.may(BEN, "table.insert")) == ((), False)

    def test_an_unconfirmed_upgrade_is_refused_with_its_confirmation(self, world: World) -> None:
        with pytest.raises(ConfirmationRequiredError, match="alters 2 decisions, and 0 assignments") as refused:
            change_model(world.organizations, world.port, RequestedModel("harbour"), None)

        assert world.preview("harbour").confirmation in str(refused.value)
        assert not world.may(BEN, "table.insert")

    def test_the_confirmation_of_other_effects_is_refused(self, world: World) -> None:
        confirmed = world.preview("harbour").confirmation
        world.control.execute(AddPrincipal(PrincipalId("cy"), "Cy", "docker", CARGO), None)

        with pytest.raises(ConfirmationRequiredError, match="alters 3 decisions"):
            change_model(world.organizations, world.port, RequestedModel("harbour"), confirmed)

    def test_a_confirmed_upgrade_is_one_entry_of_the_log(self, world: World) -> None:
        before = world.control.snapshot.revision

        world.change("harbour")
        assert (world.control.snapshot.revision, world.may(BEN, "table.insert")) == (before + 1, True)
        assert world.port.store.entry(before + 1).command == "model.upgrade"  # type: ignore[union-attr]

    def test_a_past_revision_keeps_its_version(self, world: World) -> None:
        before = world.control.snapshot.revision
        world.change("harbour")

        past = world.control.past(before)
        assert not past.answers.check(Question(Caller(BEN), "table.insert", CARGO), past.now).allowed

    def test_an_upgrade_is_undone_by_the_earlier_version(self, world: World) -> None:
        world.change("harbour")

        world.change("harbour", 1)
        assert not world.may(BEN, "table.insert")

    def test_an_upgrade_that_alters_no_decision_of_today_needs_a_confirmation_too(self, world: World) -> None:
        world.install(harbour(3).replace("creators:", "newcomer: master\n\ncreators:"))

        with pytest.raises(ConfirmationRequiredError, match="alters 0 decisions"):
            change_model(world.organizations, world.port, RequestedModel("harbour"), None)
        assert world.preview("harbour").sections == ("newcomer",)

    def test_the_version_that_decides_already_is_not_written_again(self, world: World) -> None:
        before = world.control.snapshot.revision

        change_model(world.organizations, world.port, RequestedModel("harbour", 1), None)
        assert world.control.snapshot.revision == before

    def test_a_suspended_organization_is_not_upgraded(self, world: World) -> None:
        world.control.execute(SuspendOrganization(PORT), None)

        with pytest.raises(InvalidError, match="the organization is suspended, so no decision shows the effects"):
            world.preview("harbour")

    def test_an_upgrade_that_leaves_no_owner_is_refused(self, world: World) -> None:
        world.install(harbour(3).replace("master", "captain"))

        with pytest.raises(InvalidError, match=r"no user would be an owner .* whose owner roles are `captain`"):
            world.preview("harbour")

    def test_an_upgrade_creates_the_resources_that_its_version_creates_with_their_parents(self, world: World) -> None:
        world.install(harbour(3).replace("\nroles:", "  volume: {under: [database], implicit: true}\n\nroles:"))

        world.change("harbour")
        assert [each.parent for each in world.control.snapshot.resources.values() if each.type == "volume"] == ["north"]

    def test_another_process_decides_by_the_upgraded_model(self, world: World) -> None:
        elsewhere = open_organizations(world.organizations.stores, lambda: 1.0, "nekt").open(PORT)
        assert not elsewhere.control.ask(Question(Caller(BEN), "table.insert", CARGO)).allowed

        world.change("harbour")
        elsewhere.control.catch_up()
        assert elsewhere.control.ask(Question(Caller(BEN), "table.insert", CARGO)).allowed

    def test_a_version_that_is_not_installed_is_refused(self, world: World) -> None:
        with pytest.raises(
            InvalidError, match="version 7 of the access model `harbour` is not installed; choose from 1, 2"
        ):
            world.preview("harbour", 7)

    def test_an_assignment_of_a_role_that_the_version_lacks_loses_its_meaning(self, world: World) -> None:
        world.install(harbour(3).replace("docker", "stevedore"))

        found = world.preview("harbour")
        assert [(each.subject, each.role, each.resource) for each in found.lost] == [(BEN, "docker", CARGO)]


class TestAnotherModel:
    def test_the_home_model_changes_with_the_owner_and_the_assignments_of_the_same_roles(self, world: World) -> None:
        other = harbour(1, "insert").replace("model: harbour", "model: pier").replace("master", "captain")
        world.install(other)

        done = world.change("pier")
        assert isinstance(done.command, ChangeHomeModel)
        assert (world.control.model.name, [each.role for each in done.lost]) == ("pier", ["master"])
        assert (world.may(BEN, "table.insert"), world.may(ANN, "organization.add_user", PORT)) == (True, True)

    def test_a_change_is_undone_by_the_former_model(self, world: World) -> None:
        world.install(harbour(1, "insert").replace("model: harbour", "model: pier"))
        world.change("pier")

        world.change("harbour", 1)
        assert (world.may(BEN, "table.select"), world.may(BEN, "table.insert")) == (True, False)
        assert world.may(ANN, "organization.add_user", PORT)

    def test_an_assignment_without_a_role_of_the_same_name_loses_its_meaning_until_the_model_is_back(
        self, world: World
    ) -> None:
        lost = world.change("nekt").lost
        assert [(each.subject, each.role) for each in lost if each.subject == BEN] == [(BEN, "docker")]
        assert not world.may(BEN, "table.select")

        world.change("harbour", 1)
        assert world.may(BEN, "table.select")

    def test_resources_that_the_new_model_creates_with_their_parents_are_created_once(self, world: World) -> None:
        world.change("nekt")

        types = [each.type for each in world.control.snapshot.resources.values()]
        assert (types.count("project"), types.count("lake")) == (1, 1)

    def test_a_project_gets_the_version_that_decides_in_the_organization(self, world: World) -> None:
        wanted = RequestedModel("harbour", None, ResourceId("port/project"))

        command = build_change(world.organizations, world.port, wanted)
        assert isinstance(command, GovernProject)
        assert command.model.version == 1


class TestOperators:
    def test_a_user_without_the_role_of_an_operator_changes_no_model(self, world: World) -> None:
        deployment = world.organizations.deployment.control
        deployment.execute(SignUp(PrincipalId("eve"), "Eve"), None)
        confirmed = world.preview("harbour").confirmation

        with pytest.raises(PermissionDeniedError):
            change_model(
                world.organizations, world.port, RequestedModel("harbour"), confirmed, Caller(PrincipalId("eve"))
            )
        assert not world.may(BEN, "table.insert")

    def test_a_confirmation_is_for_one_organization(self, world: World) -> None:
        spec = OrganizationSpec(ResourceId("pier"), "pier", ANN, "Ann", "harbour")
        pier = create_organization(world.organizations, spec)
        world.install(harbour(3).replace("creators:", "newcomer: master\n\ncreators:"))
        wanted = RequestedModel("harbour")
        there = build_change(world.organizations, pier, wanted)

        with pytest.raises(ConfirmationRequiredError):
            change_model(world.organizations, pier, wanted, world.confirm(wanted))
        assert preview_change(pier, there).confirmation != world.confirm(wanted)

    def test_an_operator_without_the_role_since_the_preview_changes_no_model(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        deployment, olga = world.organizations.deployment.control, PrincipalId("olga")
        deployment.execute(SignUp(olga, "Olga"), None)
        add_operator(deployment, olga, INTERNAL)
        wanted = RequestedModel("harbour")
        confirmed, compute = world.confirm(wanted), change.compute_difference

        def revoked(*sides: EvaluatedSide) -> Impact:
            remove_operator(deployment, olga, INTERNAL)
            return compute(*sides)

        monkeypatch.setattr(change, "compute_difference", revoked)
        with pytest.raises(PermissionDeniedError):
            change_model(world.organizations, world.port, wanted, confirmed, Caller(olga))
        assert world.control.model.version == 1

    def test_the_log_of_the_deployment_names_the_change(self, world: World) -> None:
        world.change("harbour")

        assert [each.command for each in world.organizations.deployment.store.entries()][
            -1
        ] == "organization.change_model"

    @pytest.mark.parametrize("command", [UpgradeModel, ChangeHomeModel])
    def test_a_member_of_the_organization_changes_no_model(
        self, world: World, command: type[UpgradeModel] | type[ChangeHomeModel]
    ) -> None:
        model = load_source(harbour(2, "insert"), "harbour.yaml").model

        with pytest.raises(InvalidError, match="chosen by the operators of the deployment"):
            world.control.execute(command(model), Caller(ANN))

    def test_a_model_that_does_not_decide_is_not_upgraded(self, world: World) -> None:
        model = load_source(harbour(1).replace("model: harbour", "model: pier"), "pier.yaml").model

        with pytest.raises(
            NotFoundError, match="`pier` does not decide in the organization; choose one that does: `harbour`"
        ):
            world.control.execute(UpgradeModel(model), None)


class TestTwoModels:
    def test_an_assignment_in_a_project_with_a_model_of_its_own_keeps_its_model(self, world: World) -> None:
        wanted = RequestedModel("harbour", None, ResourceId("port/project"))
        change_model(world.organizations, world.port, wanted, world.confirm(wanted))
        world.install(harbour(1).replace("model: harbour", "model: pier"))

        world.change("pier")
        assert world.may(BEN, "table.select")

    def test_a_user_that_becomes_an_owner_later_is_not_made_an_owner_now(self, world: World) -> None:
        late = RoleAssigned(BEN, "master", PORT, "harbour", starts=9.0)
        world.port.store.append(world.port.store.head(), LogWrite(1.0, None, "import", (late,)))
        world.control.catch_up()

        world.change("nekt")
        assert {each.subject for each in world.control.snapshot.list_assigned_on(PORT) if each.role == "owner"} == {ANN}

    def test_the_owners_get_an_owner_role_whatever_role_creators_get(self, world: World) -> None:
        other = harbour(1).replace("model: harbour", "model: pier").replace("master", "captain")
        world.install(other.replace("{types: [organization], role: captain}", "{types: [organization], role: docker}"))

        world.change("pier")
        assert world.control.ask(Question(Caller(ANN), "organization.manage_users", PORT)).allowed

    def test_an_owner_that_was_revoked_under_the_new_model_does_not_return_with_the_former_one(
        self, world: World
    ) -> None:
        world.control.execute(AddPrincipal(PrincipalId("cy"), "Cy", "master"), None)
        world.change("nekt")
        world.control.execute(RevokeRole(PrincipalId("cy"), "owner", PORT), Caller(ANN))

        world.change("harbour", 1)
        assert not world.may(PrincipalId("cy"), "organization.add_user", PORT)
        assert world.may(ANN, "organization.add_user", PORT)

    def test_an_owner_revokes_an_assignment_of_a_former_model(self, world: World) -> None:
        world.change("nekt")
        world.control.execute(RevokeRole(BEN, "docker", CARGO), Caller(ANN))

        world.change("harbour", 1)
        assert not world.may(BEN, "table.select")

    def test_a_user_that_may_not_remove_every_role_revokes_no_assignment_of_a_former_model(self, world: World) -> None:
        world.change("nekt")
        world.control.execute(AddPrincipal(PrincipalId("cy"), "Cy", "viewer", CARGO), None)

        for caller in (BEN, PrincipalId("cy")):
            with pytest.raises((PermissionDeniedError, NotFoundError)):
                world.control.execute(RevokeRole(BEN, "docker", CARGO), Caller(caller))

    def test_a_model_of_a_project_becomes_the_home_model_in_its_version(self, world: World) -> None:
        wanted = RequestedModel("nekt", None, ResourceId("port/project"))
        confirmed = preview_change(world.port, build_change(world.organizations, world.port, wanted)).confirmation
        change_model(world.organizations, world.port, wanted, confirmed)

        done = world.change("nekt")
        assert isinstance(done.command, ChangeHomeModel)
        assert world.control.snapshot.model == "nekt"

    def test_a_model_of_a_project_is_upgraded_beside_the_home_model(self, world: World) -> None:
        world.install(harbour(1).replace("model: harbour", "model: pier"))
        wanted = RequestedModel("pier", None, ResourceId("port/project"))
        confirmed = preview_change(world.port, build_change(world.organizations, world.port, wanted)).confirmation
        change_model(world.organizations, world.port, wanted, confirmed)
        world.install(harbour(2, "insert").replace("model: harbour", "model: pier"))

        command = build_change(world.organizations, world.port, RequestedModel("pier", is_upgrade=True))
        assert isinstance(command, UpgradeModel)
        assert command.model.version == 2
