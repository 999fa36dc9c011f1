import pytest

from headgate.control.access.roles import DefineRole, DeleteRole
from headgate.control.access.switches import ChangeSetting
from headgate.control.kernel.command import PermissionDeniedError
from headgate.control.kernel.errors import InvalidError, NotFoundError
from headgate.facts.ids import ResourceId
from tests.control.organization_harness import ANN, FOUNDER, ROOT, World, datamesh, nekt, onehouse, role, y42

CUSTOM = ChangeSetting(ROOT, "role_mode", "custom")
KEEPER = DefineRole("keeper", ("RESOURCES_EDIT",))


class TestSettings:
    def test_the_deployment_sets_a_plan_and_nobody_else_does(self) -> None:
        world = nekt()
        starter = ChangeSetting(ROOT, "plan", "starter")
        world.refuse(starter, PermissionDeniedError, by=FOUNDER)

        assert world.do(starter).setting(ResourceId("flights"), "plan") == "starter"

    def test_owners_switch_the_change_process(self) -> None:
        switch = ChangeSetting(ROOT, "change_process", "true")
        world = datamesh()
        world.refuse(switch, PermissionDeniedError, by=ANN)

        assert world.do(switch, by=FOUNDER).setting(ROOT, "change_process") == "true"

    def test_nobody_switches_to_an_empty_catalogue_of_roles(self) -> None:
        world = datamesh()
        world.refuse(CUSTOM, PermissionDeniedError, by=FOUNDER)
        world.do(KEEPER)

        world.do(ChangeSetting(ROOT, "edition", "standard"))
        world.refuse(CUSTOM, PermissionDeniedError, by=FOUNDER)
        world.do(ChangeSetting(ROOT, "edition", "enterprise"))
        assert world.do(CUSTOM, by=FOUNDER)

    @pytest.mark.parametrize(
        ("place", "setting", "value"),
        [
            (ROOT, "dream", "true"),
            (ROOT, "source_roles", "true"),  # which is one of projects
            ("project", "source_roles", "perhaps"),
        ],
    )
    def test_it_is_a_setting_of_the_model_there_and_one_of_its_values(
        self, place: str, setting: str, value: str
    ) -> None:
        onehouse().refuse(ChangeSetting(ResourceId(place), setting, value), InvalidError)

    def test_the_place_has_to_be_there(self) -> None:
        onehouse().refuse(ChangeSetting(ResourceId("nowhere"), "source_roles", "true"), NotFoundError, by=FOUNDER)


class TestRoles:
    def test_owners_define_and_delete_them(self) -> None:
        world = datamesh()
        world.refuse(KEEPER, PermissionDeniedError, by=ANN)

        world.do(KEEPER, by=FOUNDER)
        assert world.facts.custom_roles["keeper"] == {"RESOURCES_EDIT"}
        world.refuse(DeleteRole("keeper"), PermissionDeniedError, by=ANN)
        world.do(DeleteRole("keeper"), by=FOUNDER)
        assert not world.facts.custom_roles

    def test_not_in_the_standard_edition(self) -> None:
        world = datamesh()
        world.do(ChangeSetting(ROOT, "edition", "standard"))

        world.refuse(KEEPER, PermissionDeniedError, by=FOUNDER)

    def test_they_are_made_of_permissions(self) -> None:
        for permission in ("DREAMS", "owner"):
            command = DefineRole("keeper", (permission,))
            datamesh().refuse(command, PermissionDeniedError, by=FOUNDER)
            datamesh().refuse(command, InvalidError, f"`{permission}` is no permission")

    def test_one_may_be_called_as_a_role_that_it_replaces_and_not_as_one_that_stays(self) -> None:
        world = datamesh()
        world.do(DefineRole("editor", ("ACCESS_REQUEST",)), by=FOUNDER)
        world.do(role(ANN, "editor", "shop"))
        assert world.may(ANN, "data_product.edit", "product")

        world.do(CUSTOM, by=FOUNDER)
        assert not world.may(ANN, "data_product.edit", "product")
        for name in ("team_key", "reader", "ACCESS_EDIT"):
            world.refuse(DefineRole(name, ()), InvalidError, "choose another name", by=FOUNDER)
        world.refuse(DefineRole(" ", ()), InvalidError, by=FOUNDER)

    def test_one_that_somebody_holds_stays(self) -> None:
        world = datamesh()
        world.do(KEEPER, DefineRole("other", ()), CUSTOM, role(ANN, "keeper", "shop"))

        world.refuse(DeleteRole("keeper"), PermissionDeniedError, by=FOUNDER)

    def test_the_catalogue_is_not_emptied_while_it_is_in_force(self) -> None:
        world = datamesh()
        world.do(KEEPER, DefineRole("other", ()), CUSTOM)

        world.do(DeleteRole("keeper"), by=FOUNDER)
        world.refuse(DeleteRole("other"), InvalidError, "the last role", by=FOUNDER)
        world.do(ChangeSetting(ROOT, "role_mode", "default"), by=FOUNDER)
        assert world.do(DeleteRole("other"), by=FOUNDER)

    def test_one_has_to_be_there_to_be_deleted(self) -> None:
        datamesh().refuse(DeleteRole("keeper"), NotFoundError)
        datamesh().refuse(DeleteRole("keeper"), PermissionDeniedError, by=FOUNDER)

    @pytest.mark.parametrize("made", [nekt, y42, onehouse])
    def test_other_models_have_none(self, made) -> None:  # noqa: ANN001
        made().refuse(KEEPER, PermissionDeniedError, by=FOUNDER)
        made().refuse(KEEPER, InvalidError, "no access model in force")

    def test_the_ownership_tree_beside_another_model_has_its_own(self) -> None:
        assert World("nekt", tree="datamesh").do(KEEPER).custom_roles
