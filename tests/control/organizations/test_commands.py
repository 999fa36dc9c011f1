import pytest

from headgate.control.control import Control
from headgate.control.identity.principals import SignUp
from headgate.control.kernel.command import Command, PermissionDeniedError
from headgate.control.kernel.errors import AlreadyExistsError, InvalidError, NotFoundError
from headgate.control.models.change_commands import GovernProject
from headgate.control.models.library import FixedModels
from headgate.control.models.shipped_models import shipped_model
from headgate.control.organizations.commands import CreateDeployment, CreateOrganization
from headgate.control.resources.commands import CreateResource, MoveResource
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from tests.control.organization_harness import (
    ANN,
    BEN,
    EVE,
    FOUNDER,
    MODELS,
    ROOT,
    OrganizationHarness,
    onehouse,
    resource,
    role,
    y42,
)
from tests.fakes.store import FakeStore

DEPLOYMENT = ResourceId("deployment")


class TestBeginning:
    @pytest.mark.parametrize(
        ("model", "founding"),
        [("nekt", "owner"), ("y42", "administrator"), ("onehouse", "admin"), ("datamesh", "owner")],
    )
    def test_the_founder_of_an_organization_has_the_founding_role_of_its_model(self, model: str, founding: str) -> None:
        world = OrganizationHarness(model)

        assert world.roles(FOUNDER, ROOT) == {founding}
        assert world.facts.model_hash == MODELS[model].hash

    def test_a_log_is_begun_once_and_by_the_deployment(self) -> None:
        commands: tuple[Command, ...] = (
            CreateOrganization(FOUNDER, "f", MODELS["nekt"]),
            CreateDeployment(shipped_model("onehouse")),
        )
        for command in commands:
            OrganizationHarness("nekt").refuse(command, AlreadyExistsError)
            OrganizationHarness("nekt").refuse(command, InvalidError, by=FOUNDER)

    def test_the_ownership_tree_has_a_model_beside_the_home_model(self) -> None:
        world = OrganizationHarness("nekt", tree="datamesh")

        world.do(resource("shop", "team", ROOT), role("founder", "owner", "shop"))
        assert world.facts.assignments[FOUNDER][("owner", ResourceId("shop"), "")].model == "datamesh"


class TestInTheDeployment:
    def with_people(self) -> Control:
        control = Control(FakeStore(), FixedModels(MODELS), lambda: 0.0)
        control.execute(CreateDeployment(shipped_model("onehouse")), None)
        for id, domain in ((ANN, "acme.com"), (BEN, "new.org")):
            control.execute(SignUp(id, id, {"domain": (domain,)}), None)
        return control

    def account(self, id: str, domain: str) -> CreateResource:
        return CreateResource(ResourceId(id), "organization", DEPLOYMENT, id, attributes={"domain": (domain,)})

    def test_a_user_that_signs_up_in_the_deployment_has_no_role(self) -> None:
        assert not self.with_people().snapshot.assignments

    def test_a_user_creates_only_the_first_organization_of_their_domain(self) -> None:
        control = self.with_people()

        facts = control.execute(self.account("acme", "acme.com"), Caller(ANN)).facts
        assert facts.resources[ResourceId("acme")].type == "organization"
        assert not facts.assignments  # the assignments in the organization are in its own log
        for id, domain, who in (("more", "acme.com", ANN), ("other", "acme.com", BEN)):
            with pytest.raises(PermissionDeniedError):
                control.execute(self.account(id, domain), Caller(who))


class TestGoverning:
    def test_governing_a_project_with_another_model_changes_its_decisions(self) -> None:
        world = onehouse()
        world.do(role(ANN, "SELECT", "table"))
        assert world.may(ANN, "table.select", "table")

        facts = world.do(GovernProject(ResourceId("project"), MODELS["nekt"]))
        assert facts.find_governing_models(ResourceId("table"))[0] == "nekt"
        assert not world.may(ANN, "table.select", "table")

    def test_implicit_resources_of_the_new_model_are_created_once(self) -> None:
        world = OrganizationHarness("onehouse")
        world.do(resource("new", "project", ROOT))

        facts = world.do(GovernProject(ResourceId("new"), MODELS["nekt"]))
        assert set(facts.children[ResourceId("new")].values()) == {"new/lake"}
        again = world.do(GovernProject(ResourceId("new"), MODELS["nekt"]))
        assert set(again.children[ResourceId("new")].values()) == {"new/lake"}

    def test_a_project_with_a_resource_of_an_implicit_name_is_not_governed_by_the_model(self) -> None:
        world = y42()
        world.do(resource("lake", "module", "space"))

        world.refuse(
            GovernProject(ResourceId("space"), MODELS["nekt"]), AlreadyExistsError, "the project contains `lake`"
        )

    def test_the_deployment_alone_governs_a_project_(self) -> None:
        onehouse().refuse(GovernProject(ResourceId("project"), MODELS["nekt"]), InvalidError, by=FOUNDER)
        onehouse().refuse(GovernProject(ROOT, MODELS["nekt"]), NotFoundError)

    def test_a_move_to_a_project_of_another_model_is_refused(self) -> None:
        world = onehouse()
        world.do(resource("other", "project", ROOT), GovernProject(ResourceId("other"), MODELS["nekt"]))

        move = MoveResource(ResourceId("one"), ResourceId("other/lake"))
        world.refuse(move, InvalidError, "another access model")


class TestControl:
    def test_control_returns_the_facts_of_any_revision(self) -> None:
        world = onehouse()
        before = world.facts
        world.do(role(ANN, "SELECT", "table"))

        assert world.control.as_of(before.revision) == before
        assert world.control.as_of(world.facts.revision) is world.facts
        assert world.control.as_of(0).organization is None
        with pytest.raises(NotFoundError, match="no revision"):
            world.control.as_of(world.facts.revision + 1)

    def test_an_accepted_command_returns_the_decisions_that_allowed_it(self) -> None:
        world = onehouse()
        world.do(role(ANN, "MANAGE", "one"))

        plan = world.preview(role(BEN, "SELECT", "table"), by=ANN)
        assert [(each.allowed, each.question.action, each.revision) for each in plan.decisions] == [
            (True, "assignment.add", world.facts.revision)
        ]
        assert world.preview(role(BEN, "SELECT", "table")).decisions == ()

    def test_a_refused_command_explains_its_denial(self) -> None:
        world = onehouse()
        world.do(role(ANN, "DESCRIBE", "table"))

        with pytest.raises(PermissionDeniedError) as refusal:
            world.do(role(BEN, "SELECT", "table"), by=ANN)
        explained = refusal.value.explanation
        assert not explained.decision.allowed
        assert explained.decision.missing is not None
        assert explained.decision.missing.code == "not-grantor"

    def test_a_preview_writes_nothing(self) -> None:
        world = onehouse()
        head = world.store.head()

        assert world.preview(role(EVE, "member", "project")).changes
        assert world.store.head() == head
