"""Renaming, relating, describing and switching resources."""

import pytest

from headgate.control.access.assignments import AssignRole
from headgate.control.identity.principals import AddPrincipal
from headgate.control.kernel.command import PermissionDeniedError
from headgate.control.kernel.errors import AlreadyExistsError, InvalidError, NotFoundError
from headgate.control.pipelines.states import ChangeState, MoveToCluster
from headgate.control.resources.changes import ChangeRelations, RenameResource
from headgate.control.resources.commands import DeleteResource, SetAttributes
from headgate.control.resources.documents import ChangeDocument, SetDescription
from headgate.facts.changes import Edge
from headgate.facts.ids import ResourceId
from tests.control.organization_harness import (
    ANN,
    BEN,
    EVE,
    LAKE,
    PROJECT,
    ROOT,
    OrganizationHarness,
    datamesh,
    edges,
    nekt,
    onehouse,
    resource,
    role,
)


def id(name: str) -> ResourceId:
    return ResourceId(name)


def of(world: OrganizationHarness, name: str, relation: str) -> list[str]:
    """Return the targets of a relation of a resource."""
    return [edge.target for edge in world.facts.resources[id(name)].relations.get(relation, ())]


class TestRenaming:
    def test_renaming_a_resource_requires_the_right_to_edit_it(self) -> None:
        world = nekt()
        world.do(role(ANN, "editor", "raw"), role(BEN, "viewer", "raw"))

        world.refuse(RenameResource(id("raw"), "rough"), PermissionDeniedError, by=BEN)
        world.refuse(RenameResource(id("raw"), "rough"), NotFoundError, by=EVE)
        world.do(RenameResource(id("raw"), "rough"), by=ANN)

        assert world.facts.resources[id("raw")].name == "rough"
        assert world.roles(ANN, "raw") == {"editor"}

    def test_renaming_to_a_taken_or_invalid_name_is_refused(self) -> None:
        world = nekt()

        world.refuse(RenameResource(id("raw"), "secret"), AlreadyExistsError)
        world.refuse(RenameResource(id("raw"), "a.b"), InvalidError)

    def test_the_command_for_resources_does_not_rename_a_table(self) -> None:
        nekt().refuse(RenameResource(id("flights"), "planes"), InvalidError)

    def test_a_team_cannot_be_renamed_to_gain_rights_of_the_name(self) -> None:
        world = datamesh()
        world.do(role(ANN, "owner", "shop"))

        world.refuse(RenameResource(id("shop"), "Governance Group"), InvalidError, by=ANN)


class TestRelations:
    def notebook(self) -> OrganizationHarness:
        world = nekt()
        world.do(role(ANN, "editor", "raw"), role(BEN, "viewer", "raw"))
        world.do(resource("book", "notebook", PROJECT, inputs="flights", output_layers="raw"))
        return world

    def test_relations_are_changed_by_an_editor_and_not_by_a_viewer(self) -> None:
        world = self.notebook()
        world.do(resource("delays", "table", "raw"))
        change = ChangeRelations(id("book"), {"inputs": edges("delays")})

        world.refuse(change, PermissionDeniedError, by=BEN)
        world.do(change, by=ANN)

        assert of(world, "book", "inputs") == ["delays"]
        assert of(world, "book", "output_layers") == ["raw"]

    def test_a_relation_to_a_hidden_or_missing_resource_is_refused(self) -> None:
        world = self.notebook()

        for hidden in ("salaries", "nothing"):
            world.refuse(ChangeRelations(id("book"), {"inputs": edges(hidden)}), NotFoundError, by=ANN)

    def test_enabling_a_disabled_relation_is_decided_like_adding_it(self) -> None:
        world = self.notebook()
        off = (Edge(id("salaries"), enabled=False),)
        world.do(ChangeRelations(id("book"), {"inputs": off}))

        world.refuse(ChangeRelations(id("book"), {"inputs": edges("salaries")}), NotFoundError, by=ANN)

    def test_a_port_serves_only_tables_that_the_caller_may_assign(self) -> None:
        world = OrganizationHarness("nekt", tree="datamesh")
        world.do(AddPrincipal(ANN, "ann", "member"), AssignRole(ANN, "member", ROOT, reason="tree", model="datamesh"))
        world.do(resource("raw", "database", LAKE), resource("flights", "table", "raw"), role(ANN, "viewer", "raw"))
        world.do(resource("shop", "team", ROOT), role(ANN, "owner", "shop"))
        world.do(resource("product", "data_product", ROOT, owner="shop"), resource("port", "output_port", "product"))
        opens = ChangeRelations(id("port"), {"serves": edges("flights")})

        world.refuse(opens, PermissionDeniedError, "assignment.add", by=ANN)
        world.do(role(ANN, "manager", "raw"))
        world.do(opens, by=ANN)

        assert of(world, "port", "serves") == ["flights"]

    def test_the_owner_relation_is_changed_by_moving_the_resource_only(self) -> None:
        world = datamesh()

        world.refuse(ChangeRelations(id("product"), {"owner": edges("web")}), InvalidError, "move the resource instead")

    def test_the_cluster_relation_is_changed_by_moving_to_the_cluster_only(self) -> None:
        world = onehouse()

        world.refuse(ChangeRelations(id("table"), {"services_cluster": edges("cluster")}), InvalidError)


class TestDescribing:
    def test_describing_a_resource_requires_a_right_and_a_deletion_erases_the_text(self) -> None:
        world = nekt()
        world.do(role(ANN, "editor", "raw"), role(BEN, "viewer", "raw"))

        world.refuse(SetDescription(id("raw"), "from outside"), PermissionDeniedError, by=BEN)
        world.do(SetDescription(id("raw"), "from outside"), by=ANN)

        assert world.store.document("description", "raw") == {"text": "from outside"}
        world.do(DeleteResource(id("raw")))
        assert world.store.document("description", "raw") is None

    def test_a_document_of_a_type_without_documents_is_refused(self) -> None:
        world = datamesh()
        world.do(role(ANN, "owner", "shop"))

        world.refuse(ChangeDocument(id("product"), {"status": "live"}), PermissionDeniedError, by=BEN)
        world.do(ChangeDocument(id("product"), {"status": "live"}), by=ANN)
        world.refuse(ChangeDocument(id("shop"), {"a": 1}), InvalidError)

        assert world.store.document("data_product", "product") == {"status": "live"}


class TestStates:
    @pytest.mark.parametrize(("verb", "state"), [("deactivate", "inactive"), ("activate", "active")])
    def test_a_state_is_changed_by_the_action_of_that_name(self, verb: str, state: str) -> None:
        world = nekt()
        world.do(resource("book", "notebook", PROJECT, inputs="flights", output_layers="raw"))
        world.do(role(ANN, "editor", "raw"), role(BEN, "viewer", "raw"))

        world.refuse(ChangeState(id("book"), verb), PermissionDeniedError, by=BEN)
        world.do(ChangeState(id("book"), verb), by=ANN)

        assert world.facts.resources[id("book")].attributes["state"] == (state,)

    def test_an_unknown_state_and_a_state_set_by_editing_are_refused(self) -> None:
        world = nekt()
        world.do(resource("book", "notebook", PROJECT, inputs="flights", output_layers="raw"))
        world.do(role(ANN, "editor", "raw"))

        world.refuse(ChangeState(id("book"), "explode"), InvalidError)
        world.refuse(ChangeState(id("book"), "pause"), PermissionDeniedError, by=ANN)
        world.refuse(SetAttributes(id("book"), {"state": ("active",)}), InvalidError, by=ANN)

    def test_moving_to_a_cluster_requires_the_use_of_the_cluster(self) -> None:
        world = onehouse()
        world.do(resource("other", "cluster", "project"), role(ANN, "ALL", "table"))

        world.refuse(MoveToCluster(id("table"), id("other")), PermissionDeniedError, by=ANN)
        world.do(role(ANN, "user", "other"))
        world.do(MoveToCluster(id("table"), id("other")), by=ANN)

        assert of(world, "table", "services_cluster") == ["other"]
