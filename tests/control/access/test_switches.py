import pytest

from headgate.control.access.roles import DefineRole, DeleteRole
from headgate.control.access.switches import ChangeSetting
from headgate.control.kernel.command import PermissionDeniedError
from headgate.control.kernel.errors import InvalidError, NotFoundError
from headgate.facts.ids import ResourceId
from tests.control.organization_harness import (
    ANN,
    FOUNDER,
    ROOT,
    OrganizationHarness,
    datamesh,
    nekt,
    onehouse,
    role,
    y42,
)

CUSTOM = ChangeSetting(ROOT, "role_mode", "custom")
KEEPER = DefineRole("keeper", ("RESOURCES_EDIT",))


class TestSettings:
    def test_the_deployment_alone_sets_a_plan(self) -> None:
        world = nekt()
        starter = ChangeSetting(ROOT, "plan", "starter")
        world.refuse(starter, PermissionDeniedError, by=FOUNDER)

        assert world.do(starter).setting(ResourceId("flights"), "plan") == "starter"

    def test_an_owner_switches_the_change_process(self) -> None:
        switch = ChangeSetting(ROOT, "change_process", "true")
        world = datamesh()
        world.refuse(switch, PermissionDeniedError, by=ANN)

        assert world.do(switch, by=FOUNDER).setting(ROOT, "change_process") == "true"

    def test_custom_role_mode_requires_a_defined_role_and_the_enterprise_edition(self) -> None:
        world = datamesh()
        world.refuse(CUSTOM, PermissionDeniedError, by=FOUNDER)
        world.do(KEEPER)

        world.do(ChangeSetting(ROOT, "edition", "standard"))
        world.refuse(CUSTOM, PermissionDeniedError, by=FOUNDER)
        world.do(ChangeSetting(ROOT, "edition", "enterprise"))
        assert world.do(CUSTOM, by=FOUNDER)

    @pytest.mark.parametrize(
        ("place", "setting", "value", "said"),
        [
            (ROOT, "dream", "true", "the type `organization` has no setting `dream`; its settings are "),
            # `source_roles` is a setting of projects.
            (ROOT, "source_roles", "true", "the type `organization` has no setting `source_roles`; its settings are "),
            ("project", "source_roles", "perhaps", "`source_roles` must be one of "),
        ],
    )
    def test_a_setting_or_value_that_the_model_does_not_name_is_refused(
        self, place: str, setting: str, value: str, said: str
    ) -> None:
        onehouse().refuse(ChangeSetting(ResourceId(place), setting, value), InvalidError, said)

    def test_a_setting_of_a_missing_resource_is_not_found(self) -> None:
        onehouse().refuse(ChangeSetting(ResourceId("nowhere"), "source_roles", "true"), NotFoundError, by=FOUNDER)


class TestRoles:
    def test_an_owner_defines_and_deletes_custom_roles(self) -> None:
        world = datamesh()
        world.refuse(KEEPER, PermissionDeniedError, by=ANN)

        world.do(KEEPER, by=FOUNDER)
        assert world.facts.custom_roles["keeper"] == {"RESOURCES_EDIT"}
        world.refuse(DeleteRole("keeper"), PermissionDeniedError, by=ANN)
        world.do(DeleteRole("keeper"), by=FOUNDER)
        assert not world.facts.custom_roles

    def test_custom_roles_are_refused_in_the_standard_edition(self) -> None:
        world = datamesh()
        world.do(ChangeSetting(ROOT, "edition", "standard"))

        world.refuse(KEEPER, PermissionDeniedError, by=FOUNDER)

    def test_a_custom_role_with_an_unknown_permission_is_refused(self) -> None:
        for permission in ("DREAMS", "owner"):
            command = DefineRole("keeper", (permission,))
            datamesh().refuse(command, PermissionDeniedError, by=FOUNDER)
            datamesh().refuse(command, InvalidError, f"`{permission}` is not a permission of custom roles")

    def test_a_custom_role_may_take_the_name_of_a_replaced_role_only(self) -> None:
        world = datamesh()
        world.do(DefineRole("editor", ("ACCESS_REQUEST",)), by=FOUNDER)
        world.do(role(ANN, "editor", "shop"))
        assert world.may(ANN, "data_product.edit", "product")

        world.do(CUSTOM, by=FOUNDER)
        assert not world.may(ANN, "data_product.edit", "product")
        for name in ("team_key", "reader", "ACCESS_EDIT"):
            world.refuse(DefineRole(name, ()), InvalidError, "choose another name", by=FOUNDER)
        world.refuse(DefineRole(" ", ()), InvalidError, by=FOUNDER)

    def test_an_assigned_custom_role_cannot_be_deleted(self) -> None:
        world = datamesh()
        world.do(KEEPER, DefineRole("other", ()), CUSTOM, role(ANN, "keeper", "shop"))

        world.refuse(DeleteRole("keeper"), PermissionDeniedError, by=FOUNDER)

    def test_the_last_custom_role_cannot_be_deleted_while_custom_roles_are_in_force(self) -> None:
        world = datamesh()
        world.do(KEEPER, DefineRole("other", ()), CUSTOM)

        world.do(DeleteRole("keeper"), by=FOUNDER)
        world.refuse(DeleteRole("other"), InvalidError, "the organization's only custom role", by=FOUNDER)
        world.do(ChangeSetting(ROOT, "role_mode", "default"), by=FOUNDER)
        assert world.do(DeleteRole("other"), by=FOUNDER)

    def test_a_missing_custom_role_cannot_be_deleted(self) -> None:
        datamesh().refuse(DeleteRole("keeper"), NotFoundError)
        datamesh().refuse(DeleteRole("keeper"), PermissionDeniedError, by=FOUNDER)

    @pytest.mark.parametrize("made", [nekt, y42, onehouse])
    def test_other_models_refuse_custom_roles(self, made) -> None:  # noqa: ANN001
        made().refuse(KEEPER, PermissionDeniedError, by=FOUNDER)
        made().refuse(KEEPER, InvalidError, "do not support custom roles")

    def test_the_ownership_tree_beside_another_model_accepts_custom_roles(self) -> None:
        assert OrganizationHarness("nekt", tree="datamesh").do(KEEPER).custom_roles
