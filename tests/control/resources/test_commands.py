from dataclasses import replace

import pytest

from headgate.control.catalog.tables import CreateTable
from headgate.control.connections.commands import CreateConnection, Folder
from headgate.control.kernel.command import PermissionDeniedError
from headgate.control.kernel.errors import AlreadyExistsError, CommandError, InvalidError, NotFoundError
from headgate.control.kernel.ports import Pointer
from headgate.control.resources.changes import RenameResource
from headgate.control.resources.commands import CreateResource, DeleteResource, MoveResource, SetAttributes
from headgate.facts.changes import Edge
from headgate.facts.ids import PrincipalId, ResourceId
from tests.control.organization_harness import (
    ANN,
    BEN,
    EVE,
    FOUNDER,
    LAKE,
    PROJECT,
    ROOT,
    OrganizationHarness,
    datamesh,
    edges,
    nekt,
    onehouse,
    request,
    resource,
    role,
    y42,
)


class TestCreating:
    def test_a_project_member_creates_a_source_in_the_project(self) -> None:
        world = onehouse()

        found = world.do(resource("loader", "source", "project"), by=ANN).resources[ResourceId("loader")]
        assert (found.type, found.parent, found.creator) == ("source", "project", ANN)

    def test_a_creator_is_assigned_the_role_that_the_model_names(self) -> None:
        world = onehouse()
        world.do(role(ANN, "CREATE_TABLE", "one"))

        world.do(resource("loader", "source", "project"), resource("mine", "table", "one"), by=ANN)
        assert world.roles(ANN, "loader") == {"manager"}
        assert world.roles(ANN, "mine") == {"ALL"}

    def test_the_deployment_is_assigned_no_role_on_a_resource_that_it_creates(self) -> None:
        assert not onehouse().facts.assignments_on.get(ResourceId("cluster"))

    def test_a_model_without_creator_roles_assigns_nothing_to_a_creator(self) -> None:
        world = nekt()
        world.do(role(ANN, "editor", "raw"))

        assert not world.do(resource("mine", "table", "raw"), by=ANN).assignments_on.get(ResourceId("mine"))

    def test_a_project_member_cannot_create_a_cluster(self) -> None:
        onehouse().refuse(resource("big", "cluster", "project"), PermissionDeniedError, by=ANN)

    def test_a_hidden_parent_is_refused_like_a_missing_one(self) -> None:
        for parent in ("secret", "nowhere"):
            nekt().refuse(resource("mine", "table", parent), NotFoundError, f"no `{parent}` that you may see", by=ANN)

    def test_relations_of_a_new_resource_are_part_of_the_decision(self) -> None:
        world = onehouse()

        world.refuse(resource("job", "job", "project", cluster="cluster"), PermissionDeniedError, by=ANN)
        world.do(role(ANN, "user", "cluster"))
        assert world.do(resource("job", "job", "project", cluster="cluster"), by=ANN)

    def test_attributes_of_a_new_resource_are_part_of_the_decision(self) -> None:
        world = onehouse()
        world.do(role(ANN, "user", "cluster"), role(ANN, "SELECT", "table"))
        sync, compaction = (
            CreateResource(ResourceId(kind), "table_service", ResourceId("table"), kind, attributes={"kind": (kind,)})
            for kind in ("metasync", "compaction")
        )

        world.refuse(compaction, PermissionDeniedError, by=ANN)
        assert world.do(sync, by=ANN)

    def test_a_new_resource_cannot_name_a_resource_that_its_creator_may_not_see(self) -> None:
        world = onehouse()
        world.do(resource("loader", "source", "project"))

        for target in ("loader", "nowhere"):
            new = resource("other", "source", "project", after=target)
            world.refuse(new, NotFoundError, f"no `{target}` that you may see", by=ANN)

    def test_creating_a_team_resource_requires_a_role_in_its_owning_team(self) -> None:
        world = datamesh()
        world.do(role(ANN, "editor", "shop"))

        world.refuse(resource("p", "data_product", ROOT), PermissionDeniedError, by=ANN)
        world.refuse(resource("p", "data_product", ROOT, owner="ops"), PermissionDeniedError, by=ANN)
        assert world.do(resource("p", "data_product", ROOT, owner="shop"), by=ANN)

    def test_a_policy_is_created_for_the_governance_group_only(self) -> None:
        world = datamesh()
        named = {"name": ("Governance Group",)}
        world.do(CreateResource(ResourceId("gg"), "team", ROOT, "gg", attributes=named))
        world.do(role(ANN, "owner", "gg"), role(ANN, "owner", "shop"))

        world.refuse(resource("p", "policy", ROOT, owner="shop"), PermissionDeniedError, by=ANN)
        assert world.do(resource("p", "policy", ROOT, owner="gg"), by=ANN)

    def test_implicit_resources_of_the_model_are_created_with_the_organization(self) -> None:
        facts = OrganizationHarness("nekt").facts

        assert [each.type for each in facts.ancestors(LAKE)] == ["project", "organization"]
        assert facts.find(("lake",)) == facts.resources[LAKE]

    @pytest.mark.parametrize("type", ["group", "service_principal", "token", "access", "change_request"])
    def test_a_type_with_its_own_commands_is_not_created_as_a_resource(self, type: str) -> None:
        datamesh().refuse(resource("new", type, ROOT), InvalidError, "use the commands for")

    def test_a_type_that_the_model_does_not_know_under_the_parent_is_refused(self) -> None:
        nekt().refuse(resource("new", "dream", "raw"), InvalidError, "do not have the type `dream`")
        nekt().refuse(resource("new", "table", LAKE), InvalidError, "`table` must be under `layer`, not under a `lake`")

    def test_an_id_that_exists_or_is_still_named_cannot_be_reused(self) -> None:
        world = nekt()
        world.do(resource("copy", "destination", PROJECT, inputs="flights"))

        world.refuse(resource("copy", "table", "raw"), AlreadyExistsError)
        world.do(DeleteResource(ResourceId("flights")))
        world.refuse(resource("flights", "table", "raw"), AlreadyExistsError)

    @pytest.mark.parametrize(
        ("name", "error"), [("o_" + "0f" * 16, InvalidError), (ROOT, AlreadyExistsError), ("first", AlreadyExistsError)]
    )
    def test_a_top_level_name_that_equals_an_id_is_refused(self, name: str, error: type[CommandError]) -> None:
        world = onehouse()
        for id in ("first", "second"):
            world.do(CreateResource(ResourceId(id), "project", ROOT, f"{id}-project"))

        world.refuse(CreateResource(ResourceId("third"), "project", ROOT, name), error, "an? id|the id")
        world.refuse(RenameResource(ResourceId("second"), name), error, "an? id|the id")

    def test_a_taken_or_invalid_name_is_refused(self) -> None:
        for title, error in (("flights", AlreadyExistsError), ("a.b", InvalidError)):
            nekt().refuse(CreateResource(ResourceId("new"), "table", ResourceId("raw"), title), error)


class TestDeleting:
    def test_deleting_a_database_deletes_its_tables_assignments_and_pointers(self) -> None:
        world = onehouse()
        world.do(role(ANN, "DROP", "one"), role(BEN, "SELECT", "table"))
        pointer = Pointer(ResourceId("more"), "file:///w/more")
        world.do(CreateTable(ResourceId("one"), ResourceId("more"), "more", pointer))

        facts = world.do(DeleteResource(ResourceId("one")), by=ANN)
        assert not {"one", "table", "more"} & set(facts.resources)
        assert not world.roles(BEN, "table")
        assert world.store.at == {}

    def test_deleting_a_connection_erases_its_document(self) -> None:
        world = nekt()
        world.do(CreateConnection(ResourceId("files"), PROJECT, "files", Folder("/data")))

        world.do(DeleteResource(ResourceId("files")), by=FOUNDER)
        assert ("connection", "files") not in world.store.bodies

    def test_a_user_without_drop_cannot_delete_a_table(self) -> None:
        world = onehouse()
        world.do(role(ANN, "DESCRIBE", "table"))

        world.refuse(DeleteResource(ResourceId("table")), PermissionDeniedError, by=ANN)

    def test_a_hidden_resource_is_refused_like_a_missing_one(self) -> None:
        for id in ("salaries", "nowhere"):
            nekt().refuse(DeleteResource(ResourceId(id)), NotFoundError, f"no `{id}` that you may see", by=ANN)

    def test_the_organization_itself_cannot_be_deleted_as_a_resource(self) -> None:
        y42().refuse(DeleteResource(ROOT), InvalidError, "organization itself", by=FOUNDER)

    def test_a_group_is_not_deleted_by_the_command_for_resources(self) -> None:
        nekt().refuse(DeleteResource(ResourceId("crew")), InvalidError, "commands for groups")


class TestMoving:
    def test_moving_a_team_ends_the_rights_of_the_former_domain_owner(self) -> None:
        world = datamesh()
        world.do(role(ANN, "owner", "sales"), role(BEN, "owner", "ops"))

        world.do(MoveResource(ResourceId("shop"), ResourceId("ops")), by=FOUNDER)
        assert not world.may(ANN, "data_product.edit", "product")
        assert world.may(BEN, "data_product.edit", "product")

    def test_a_moved_product_belongs_to_the_other_team(self) -> None:
        world = datamesh()
        world.do(role(ANN, "owner", "sales"), role(BEN, "editor", "web"))

        facts = world.do(MoveResource(ResourceId("product"), ResourceId("web")), by=ANN)
        assert facts.resources[ResourceId("product")].relations["owner"] == (Edge(ResourceId("web")),)
        assert world.may(BEN, "data_product.edit", "product")

    def test_a_move_requires_the_right_to_delete_here_and_to_create_there(self) -> None:
        world = datamesh()
        world.do(role(ANN, "owner", "shop"), role(BEN, "owner", "ops"))

        move = MoveResource(ResourceId("product"), ResourceId("ops"))
        world.refuse(move, PermissionDeniedError, by=ANN)
        world.refuse(move, PermissionDeniedError, by=BEN)
        world.refuse(move, PermissionDeniedError, by=EVE)

    def test_a_resource_cannot_move_below_itself(self) -> None:
        for place in ("sales", "shop"):
            datamesh().refuse(MoveResource(ResourceId("sales"), ResourceId(place)), InvalidError, "below itself")

    def test_a_move_to_a_parent_that_the_model_does_not_allow_is_refused(self) -> None:
        datamesh().refuse(MoveResource(ResourceId("sales"), ResourceId("ops")), InvalidError, "`domain` must be under")

    def test_a_move_to_where_the_name_is_taken_is_refused(self) -> None:
        world = onehouse()
        world.do(CreateResource(ResourceId("twin"), "table", ResourceId("two"), "table"))

        world.refuse(MoveResource(ResourceId("table"), ResourceId("two")), AlreadyExistsError)

    def test_a_move_to_a_hidden_parent_is_refused_like_one_to_a_missing_parent(self) -> None:
        world = nekt()
        world.do(role(ANN, "manager", "raw"))

        for place in ("secret", "nowhere"):
            move = MoveResource(ResourceId("flights"), ResourceId(place))
            world.refuse(move, NotFoundError, f"no `{place}` that you may see", by=ANN)

    def test_a_move_by_which_the_caller_would_gain_rights_is_refused(self) -> None:
        world = onehouse()
        for privilege in ("DROP", "ALTER"):
            world.do(role(ANN, privilege, "table"))
        world.do(role(ANN, "ALL", "two"))

        move = MoveResource(ResourceId("table"), ResourceId("two"))
        world.refuse(move, InvalidError, "you would gain", by=ANN)
        world.do(role(ANN, "ALL", "table"))
        assert world.do(move, by=ANN).resources[ResourceId("table")].parent == "two"

    @pytest.mark.parametrize("moved", ["product", "port"])
    def test_moving_a_port_to_another_team_requires_the_right_to_add_access(self, moved: str) -> None:
        world = datamesh()
        world.do(resource("other", "data_product", ROOT, owner="ops"))
        world.do(*(role(ANN, "editor", team) for team in ("shop", "ops")))
        world.do(*(role(BEN, "owner", team) for team in ("shop", "ops")))
        move = MoveResource(ResourceId(moved), ResourceId({"product": "ops", "port": "other"}[moved]))

        world.refuse(move, PermissionDeniedError, "output_port.add_access", by=ANN)

        world.do(move, by=BEN)
        world.do(request("a", "ops"), by=BEN)
        assert world.facts.agreements[ResourceId("a")].state == "approved"


class TestAttributes:
    def test_an_editor_sets_an_attribute_and_the_others_stay(self) -> None:
        world = datamesh()
        world.do(role(ANN, "editor", "shop"))

        world.do(SetAttributes(ResourceId("port"), {"format": ("delta",)}), by=ANN)
        facts = world.do(SetAttributes(ResourceId("port"), {"owner_note": ("daily",)}), by=ANN)
        assert facts.resources[ResourceId("port")].attributes == {"format": ("delta",), "owner_note": ("daily",)}

    def test_auto_approval_of_a_port_requires_the_right_to_add_access(self) -> None:
        world = datamesh()
        world.do(role(ANN, "editor", "shop"), role(BEN, "owner", "shop"))
        approving = SetAttributes(ResourceId("port"), {"auto_approve": ("true",)})
        made = replace(resource("open", "output_port", "product"), attributes={"auto_approve": ("true",)})

        world.refuse(approving, PermissionDeniedError, by=ANN)
        world.refuse(made, PermissionDeniedError, by=ANN)

        world.do(approving, by=BEN)
        world.do(made, by=BEN)
        # The port approves automatically already, so that a change of another attribute grants nothing.
        world.do(SetAttributes(ResourceId("port"), {"format": ("delta",), "auto_approve": ("true",)}), by=ANN)

    def test_a_user_without_a_role_cannot_set_attributes(self) -> None:
        datamesh().refuse(SetAttributes(ResourceId("port"), {"auto_approve": ("true",)}), PermissionDeniedError, by=ANN)

    def test_an_attribute_change_is_also_decided_on_the_changed_resource(self) -> None:
        world = onehouse()
        sync = {"kind": ("metasync",)}
        world.do(CreateResource(ResourceId("sync"), "table_service", ResourceId("table"), "sync", attributes=sync))
        world.do(role(ANN, "user", "cluster"), role(ANN, "SELECT", "table"), role(ANN, "DESCRIBE", "table"))

        assert world.may(ANN, "table_service.edit", "sync")
        world.refuse(SetAttributes(ResourceId("sync"), {"kind": ("compaction",)}), PermissionDeniedError, by=ANN)
        world.do(role(ANN, "ALTER", "table"))
        assert world.do(SetAttributes(ResourceId("sync"), {"kind": ("compaction",)}), by=ANN)

    def test_a_team_cannot_become_the_governance_group_by_a_new_name(self) -> None:
        world = datamesh()
        world.do(role(ANN, "owner", "shop"))

        named = SetAttributes(ResourceId("shop"), {"name": ("Governance Group",)})
        world.refuse(named, InvalidError, "you would gain `team.create_policy`", by=ANN)

    def test_the_deployment_alone_sets_attributes_of_a_group_or_an_organization(self) -> None:
        world = onehouse()

        y42().refuse(
            SetAttributes(ROOT, {"domain": ("acme.com",)}),
            InvalidError,
            "only the operator of this deployment may change",
            by=FOUNDER,
        )
        for id in ("crew", ROOT):
            change = SetAttributes(ResourceId(id), {"domain": ("acme.com",)})
            world.refuse(change, InvalidError if id == "crew" else PermissionDeniedError, by=FOUNDER)
            assert world.do(change).resources[ResourceId(id)].attributes["domain"] == ("acme.com",)


def test_a_created_resource_has_exactly_the_given_relations() -> None:
    world = nekt()
    world.do(role(ANN, "editor", "raw"))
    made = CreateResource(
        ResourceId("copy"), "query", PROJECT, "copy", {"inputs": edges("flights"), "output_layers": edges("raw")}
    )

    assert world.do(made, by=ANN).resources[ResourceId("copy")].relations == made.relations
    assert PrincipalId("ann") == world.facts.resources[ResourceId("copy")].creator
