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
    World,
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
    def test_who_may_make_it_there_makes_it(self) -> None:
        world = onehouse()

        found = world.do(resource("loader", "source", "project"), by=ANN).resources[ResourceId("loader")]
        assert (found.type, found.parent, found.creator) == ("source", "project", ANN)

    def test_who_makes_it_is_assigned_what_the_model_gives_to_makers(self) -> None:
        world = onehouse()
        world.do(role(ANN, "CREATE_TABLE", "one"))

        world.do(resource("loader", "source", "project"), resource("mine", "table", "one"), by=ANN)
        assert world.roles(ANN, "loader") == {"manager"}
        assert world.roles(ANN, "mine") == {"ALL"}

    def test_the_deployment_is_assigned_nothing(self) -> None:
        assert not onehouse().facts.assignments_on.get(ResourceId("cluster"))

    def test_a_model_without_makers_gives_them_nothing(self) -> None:
        world = nekt()
        world.do(role(ANN, "editor", "raw"))

        assert not world.do(resource("mine", "table", "raw"), by=ANN).assignments_on.get(ResourceId("mine"))

    def test_who_may_not_make_it_there_does_not(self) -> None:
        onehouse().refuse(resource("big", "cluster", "project"), PermissionDeniedError, by=ANN)

    def test_a_hidden_parent_is_as_missing(self) -> None:
        for parent in ("secret", "nowhere"):
            nekt().refuse(resource("mine", "table", parent), NotFoundError, f"no `{parent}` that you may see", by=ANN)

    def test_what_it_touches_is_part_of_the_question(self) -> None:
        world = onehouse()

        world.refuse(resource("job", "job", "project", cluster="cluster"), PermissionDeniedError, by=ANN)
        world.do(role(ANN, "user", "cluster"))
        assert world.do(resource("job", "job", "project", cluster="cluster"), by=ANN)

    def test_what_it_is_like_is_part_of_the_question(self) -> None:
        world = onehouse()
        world.do(role(ANN, "user", "cluster"), role(ANN, "SELECT", "table"))
        sync, compaction = (
            CreateResource(ResourceId(kind), "table_service", ResourceId("table"), kind, attributes={"kind": (kind,)})
            for kind in ("metasync", "compaction")
        )

        world.refuse(compaction, PermissionDeniedError, by=ANN)
        assert world.do(sync, by=ANN)

    def test_it_names_nothing_that_its_maker_may_not_see(self) -> None:
        world = onehouse()
        world.do(resource("loader", "source", "project"))

        for target in ("loader", "nowhere"):
            new = resource("other", "source", "project", after=target)
            world.refuse(new, NotFoundError, f"no `{target}` that you may see", by=ANN)

    def test_what_belongs_to_a_team_is_asked_of_the_team(self) -> None:
        world = datamesh()
        world.do(role(ANN, "editor", "shop"))

        world.refuse(resource("p", "data_product", ROOT), PermissionDeniedError, by=ANN)
        world.refuse(resource("p", "data_product", ROOT, owner="ops"), PermissionDeniedError, by=ANN)
        assert world.do(resource("p", "data_product", ROOT, owner="shop"), by=ANN)

    def test_only_the_governance_group_makes_policies(self) -> None:
        world = datamesh()
        named = {"name": ("Governance Group",)}
        world.do(CreateResource(ResourceId("gg"), "team", ROOT, "gg", attributes=named))
        world.do(role(ANN, "owner", "gg"), role(ANN, "owner", "shop"))

        world.refuse(resource("p", "policy", ROOT, owner="shop"), PermissionDeniedError, by=ANN)
        assert world.do(resource("p", "policy", ROOT, owner="gg"), by=ANN)

    def test_what_the_model_has_implicitly_comes_with_it(self) -> None:
        facts = World("nekt").facts

        assert [each.type for each in facts.ancestors(LAKE)] == ["project", "organization"]
        assert facts.find(("lake",)) == facts.resources[LAKE]

    @pytest.mark.parametrize("type", ["group", "service_principal", "token", "access", "change_request"])
    def test_what_is_more_than_a_resource_is_made_otherwise(self, type: str) -> None:
        datamesh().refuse(resource("new", type, ROOT), InvalidError, "there are commands for")

    def test_the_type_has_to_be_one_that_the_model_knows_there(self) -> None:
        nekt().refuse(resource("new", "dream", "raw"), InvalidError, "no access model .* knows the type `dream`")
        nekt().refuse(resource("new", "table", LAKE), InvalidError, "`table` lies under `layer`, not under a `lake`")

    def test_nothing_takes_the_id_of_another_not_even_of_one_that_is_gone_and_still_named(self) -> None:
        world = nekt()
        world.do(resource("copy", "destination", PROJECT, inputs="flights"))

        world.refuse(resource("copy", "table", "raw"), AlreadyExistsError)
        world.do(DeleteResource(ResourceId("flights")))
        world.refuse(resource("flights", "table", "raw"), AlreadyExistsError)

    @pytest.mark.parametrize(
        ("name", "error"), [("o_" + "0f" * 16, InvalidError), (ROOT, AlreadyExistsError), ("first", AlreadyExistsError)]
    )
    def test_nothing_at_the_top_is_named_like_the_id_of_something_else(
        self, name: str, error: type[CommandError]
    ) -> None:
        world = onehouse()
        for id in ("first", "second"):
            world.do(CreateResource(ResourceId(id), "project", ROOT, f"{id}-project"))

        world.refuse(CreateResource(ResourceId("third"), "project", ROOT, name), error, "an? id|the id")
        world.refuse(RenameResource(ResourceId("second"), name), error, "an? id|the id")

    def test_a_name_is_given_once_and_can_be_written(self) -> None:
        for title, error in (("flights", AlreadyExistsError), ("a.b", InvalidError)):
            nekt().refuse(CreateResource(ResourceId("new"), "table", ResourceId("raw"), title), error)


class TestDeleting:
    def test_everything_below_goes_with_it_and_whatever_is_kept_for_that(self) -> None:
        world = onehouse()
        world.do(role(ANN, "DROP", "one"), role(BEN, "SELECT", "table"))
        pointer = Pointer(ResourceId("more"), "file:///w/more")
        world.do(CreateTable(ResourceId("one"), ResourceId("more"), "more", pointer))

        facts = world.do(DeleteResource(ResourceId("one")), by=ANN)
        assert not {"one", "table", "more"} & set(facts.resources)
        assert not world.roles(BEN, "table")
        assert world.store.at == {}

    def test_its_document_is_erased(self) -> None:
        world = nekt()
        world.do(CreateConnection(ResourceId("files"), PROJECT, "files", Folder("/data")))

        world.do(DeleteResource(ResourceId("files")), by=FOUNDER)
        assert ("connection", "files") not in world.store.bodies

    def test_who_may_not_drop_it_does_not(self) -> None:
        world = onehouse()
        world.do(role(ANN, "DESCRIBE", "table"))

        world.refuse(DeleteResource(ResourceId("table")), PermissionDeniedError, by=ANN)

    def test_a_hidden_one_is_as_missing(self) -> None:
        for id in ("salaries", "nowhere"):
            nekt().refuse(DeleteResource(ResourceId(id)), NotFoundError, f"no `{id}` that you may see", by=ANN)

    def test_the_organization_stays_though_the_model_lets_administrators_delete_it(self) -> None:
        y42().refuse(DeleteResource(ROOT), InvalidError, "organization itself", by=FOUNDER)

    def test_a_group_is_deleted_otherwise(self) -> None:
        nekt().refuse(DeleteResource(ResourceId("crew")), InvalidError, "commands for groups")


class TestMoving:
    def test_a_team_that_moves_leaves_its_former_domains_people_behind(self) -> None:
        world = datamesh()
        world.do(role(ANN, "owner", "sales"), role(BEN, "owner", "ops"))

        world.do(MoveResource(ResourceId("shop"), ResourceId("ops")), by=FOUNDER)
        assert not world.may(ANN, "data_product.edit", "product")
        assert world.may(BEN, "data_product.edit", "product")

    def test_a_product_that_moves_belongs_to_the_other_team(self) -> None:
        world = datamesh()
        world.do(role(ANN, "owner", "sales"), role(BEN, "editor", "web"))

        facts = world.do(MoveResource(ResourceId("product"), ResourceId("web")), by=ANN)
        assert facts.resources[ResourceId("product")].relations["owner"] == (Edge(ResourceId("web")),)
        assert world.may(BEN, "data_product.edit", "product")

    def test_it_needs_the_right_to_delete_it_here_and_to_make_it_there(self) -> None:
        world = datamesh()
        world.do(role(ANN, "owner", "shop"), role(BEN, "owner", "ops"))

        move = MoveResource(ResourceId("product"), ResourceId("ops"))
        world.refuse(move, PermissionDeniedError, by=ANN)
        world.refuse(move, PermissionDeniedError, by=BEN)
        world.refuse(move, PermissionDeniedError, by=EVE)

    def test_nothing_moves_below_itself(self) -> None:
        for place in ("sales", "shop"):
            datamesh().refuse(MoveResource(ResourceId("sales"), ResourceId(place)), InvalidError, "below itself")

    def test_it_lies_where_the_model_lets_it_lie(self) -> None:
        datamesh().refuse(MoveResource(ResourceId("sales"), ResourceId("ops")), InvalidError, "`domain` lies under")

    def test_its_name_has_to_be_free_there(self) -> None:
        world = onehouse()
        world.do(CreateResource(ResourceId("twin"), "table", ResourceId("two"), "table"))

        world.refuse(MoveResource(ResourceId("table"), ResourceId("two")), AlreadyExistsError)

    def test_a_hidden_place_is_as_missing(self) -> None:
        world = nekt()
        world.do(role(ANN, "manager", "raw"))

        for place in ("secret", "nowhere"):
            move = MoveResource(ResourceId("flights"), ResourceId(place))
            world.refuse(move, NotFoundError, f"no `{place}` that you may see", by=ANN)

    def test_who_moves_it_gains_nothing_on_it(self) -> None:
        world = onehouse()
        for privilege in ("DROP", "ALTER"):
            world.do(role(ANN, privilege, "table"))
        world.do(role(ANN, "ALL", "two"))

        move = MoveResource(ResourceId("table"), ResourceId("two"))
        world.refuse(move, InvalidError, "you would gain", by=ANN)
        world.do(role(ANN, "ALL", "table"))
        assert world.do(move, by=ANN).resources[ResourceId("table")].parent == "two"

    @pytest.mark.parametrize("moved", ["product", "port"])
    def test_only_a_user_that_may_add_access_gives_a_port_to_another_team(self, moved: str) -> None:
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
    def test_who_may_edit_it_changes_some_and_the_others_stay(self) -> None:
        world = datamesh()
        world.do(role(ANN, "editor", "shop"))

        world.do(SetAttributes(ResourceId("port"), {"format": ("delta",)}), by=ANN)
        facts = world.do(SetAttributes(ResourceId("port"), {"owner_note": ("daily",)}), by=ANN)
        assert facts.resources[ResourceId("port")].attributes == {"format": ("delta",), "owner_note": ("daily",)}

    def test_only_a_user_that_may_add_access_has_requests_approved_at_once(self) -> None:
        world = datamesh()
        world.do(role(ANN, "editor", "shop"), role(BEN, "owner", "shop"))
        approving = SetAttributes(ResourceId("port"), {"auto_approve": ("true",)})
        made = replace(resource("open", "output_port", "product"), attributes={"auto_approve": ("true",)})

        world.refuse(approving, PermissionDeniedError, by=ANN)
        world.refuse(made, PermissionDeniedError, by=ANN)

        world.do(approving, by=BEN)
        world.do(made, by=BEN)
        # The port stays as it is: a change of something else gives nothing.
        world.do(SetAttributes(ResourceId("port"), {"format": ("delta",), "auto_approve": ("true",)}), by=ANN)

    def test_who_may_not_edit_it_does_not(self) -> None:
        datamesh().refuse(SetAttributes(ResourceId("port"), {"auto_approve": ("true",)}), PermissionDeniedError, by=ANN)

    def test_it_has_to_be_allowed_on_what_it_would_be_too(self) -> None:
        world = onehouse()
        sync = {"kind": ("metasync",)}
        world.do(CreateResource(ResourceId("sync"), "table_service", ResourceId("table"), "sync", attributes=sync))
        world.do(role(ANN, "user", "cluster"), role(ANN, "SELECT", "table"), role(ANN, "DESCRIBE", "table"))

        assert world.may(ANN, "table_service.edit", "sync")
        world.refuse(SetAttributes(ResourceId("sync"), {"kind": ("compaction",)}), PermissionDeniedError, by=ANN)
        world.do(role(ANN, "ALTER", "table"))
        assert world.do(SetAttributes(ResourceId("sync"), {"kind": ("compaction",)}), by=ANN)

    def test_a_team_does_not_become_the_governance_group_by_another_name(self) -> None:
        world = datamesh()
        world.do(role(ANN, "owner", "shop"))

        named = SetAttributes(ResourceId("shop"), {"name": ("Governance Group",)})
        world.refuse(named, InvalidError, "you would gain `team.create_policy`", by=ANN)

    def test_what_a_group_or_the_organization_is_like_the_deployment_says(self) -> None:
        world = onehouse()

        y42().refuse(SetAttributes(ROOT, {"domain": ("acme.com",)}), InvalidError, "the deployment says", by=FOUNDER)
        for id in ("crew", ROOT):
            change = SetAttributes(ResourceId(id), {"domain": ("acme.com",)})
            world.refuse(change, InvalidError if id == "crew" else PermissionDeniedError, by=FOUNDER)
            assert world.do(change).resources[ResourceId(id)].attributes["domain"] == ("acme.com",)


def test_an_edge_is_named_as_it_is_made() -> None:
    world = nekt()
    world.do(role(ANN, "editor", "raw"))
    made = CreateResource(
        ResourceId("copy"), "query", PROJECT, "copy", {"inputs": edges("flights"), "output_layers": edges("raw")}
    )

    assert world.do(made, by=ANN).resources[ResourceId("copy")].relations == made.relations
    assert PrincipalId("ann") == world.facts.resources[ResourceId("copy")].creator
