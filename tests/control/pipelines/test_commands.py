"""Saving pipelines: the privileges that it needs under each model, and the run-as principal of the pipeline afterwards."""

from dataclasses import replace
from typing import Any

import pytest

from headgate.control.access.assignments import RevokeRole
from headgate.control.access.switches import ChangeSetting
from headgate.control.connections.commands import CreateConnection, Folder
from headgate.control.identity.principals import CreateServicePrincipal, DeleteServicePrincipal
from headgate.control.identity.tokens import IssueToken
from headgate.control.kernel.command import CommandContext, PermissionDeniedError
from headgate.control.kernel.errors import CommandError, InvalidError, NotFoundError
from headgate.control.pipelines.commands import DeletePipeline, SavePipeline
from headgate.control.pipelines.run_as import missing_privileges
from headgate.control.pipelines.streams import AddStream
from headgate.control.resources.commands import DeleteResource
from headgate.facts.caller import Caller
from headgate.facts.changes import Edge, Relations, RunStarted
from headgate.facts.ids import PrincipalId, ResourceId, RunId, TokenId
from tests.control.organization_harness import (
    ANN,
    BEN,
    BOT,
    EVE,
    FOUNDER,
    PROJECT,
    OrganizationHarness,
    edges,
    nekt,
    onehouse,
    resource,
    role,
    y42,
)

FILES, NEW = ResourceId("files"), ResourceId("new")
CAPTURE, TOKEN = ResourceId("capture"), TokenId("token")


def save(kind: str = "query", place: str = PROJECT, id: ResourceId = NEW, **more: Any) -> SavePipeline:
    """Return a command that saves a pipeline; each further argument is a relation with its target."""
    run_as, attributes = more.pop("run_as", None), more.pop("attributes", {})
    relations: Relations = {name: edges(each) if isinstance(each, str) else each for name, each in more.items()}
    return SavePipeline(id, ResourceId(place), kind, id, relations, {"v": 1}, attributes, run_as)


def missing(database: str, name: str) -> dict[str, Any]:
    """Return the relations to a table that the pipeline will create."""
    edge = Edge(ResourceId(database), name=name)
    return {"output_layers": (edge,), "outputs": (edge,)}


def lacks(world: OrganizationHarness, who: PrincipalId, pipeline: ResourceId = NEW) -> list[str]:
    view = CommandContext(world.control.answers, None, world.now)
    return list(missing_privileges(view, world.facts.resources[pipeline], Caller(who)))


class TestUnderNekt:
    """1.5: the privileges to create a pipeline; a change is decided on the current and on the changed pipeline."""

    @pytest.mark.parametrize(
        ("kind", "relations", "levels"),
        [
            ("source", missing("raw", "made"), {"raw": "editor"}),
            ("query", {**missing("raw", "made"), "inputs": "salaries"}, {"raw": "editor", "salaries": "editor"}),
            ("history", {**missing("raw", "made"), "inputs": "salaries"}, {"raw": "editor", "salaries": "editor"}),
            ("destination", {"inputs": "salaries"}, {"salaries": "editor"}),
            ("visualization", {"inputs": "salaries"}, {"salaries": "editor"}),
            ("saved_query", {"inputs": "salaries"}, {"salaries": "viewer"}),
        ],
    )
    def test_creating_a_pipeline_requires_each_level_that_nekt_names(
        self, kind: str, relations: dict[str, Any], levels: dict[str, str]
    ) -> None:
        world, new = nekt(), save(kind, **relations)
        for place, level in levels.items():
            with pytest.raises((PermissionDeniedError, NotFoundError)):
                world.do(new, by=ANN)
            world.do(role(ANN, level, place))

        world.do(new, by=ANN)

        assert world.facts.run_as[NEW] == ANN
        assert lacks(world, ANN) == []

    def test_an_edit_is_decided_on_the_former_and_on_the_new_relations(self) -> None:
        world = nekt()
        world.do(role(ANN, "editor", "raw"), role(BEN, "editor", "raw"), role(BEN, "editor", "salaries"))
        world.do(save(inputs="flights", **missing("raw", "made")), by=ANN)
        wider = save(inputs=edges("flights", "salaries"), **missing("raw", "made"))

        world.refuse(wider, NotFoundError, "salaries", by=ANN)
        world.do(role(ANN, "viewer", "salaries"))
        world.refuse(wider, PermissionDeniedError, "edit", by=ANN)
        world.do(wider, by=BEN)

        assert world.facts.run_as[NEW] == BEN
        world.refuse(save(inputs="flights", **missing("raw", "made")), PermissionDeniedError, "edit", by=ANN)

    def test_a_saved_pipeline_cannot_change_its_kind_or_be_edited_while_it_runs(self) -> None:
        world = nekt()
        world.do(save("destination", inputs="flights"), by=FOUNDER)

        world.refuse(save("visualization", inputs="flights"), NotFoundError, by=FOUNDER)
        world.store.write(RunStarted(RunId("run"), NEW, FOUNDER))
        world.reopen()
        world.refuse(save("destination", inputs="flights"), InvalidError, "under way", by=FOUNDER)

    @pytest.mark.parametrize(
        ("command", "error"),
        [
            (save("notebook", inputs="flights"), "not a kind"),
            (save(owner="flights"), "no relation `owner`"),
            (save(inputs="raw"), "no `raw`"),
        ],
    )
    def test_a_pipeline_with_an_unknown_kind_relation_or_target_is_refused(
        self, command: SavePipeline, error: str
    ) -> None:
        with pytest.raises(CommandError, match=error):
            nekt().do(command, by=FOUNDER)

    def test_deleting_a_pipeline_deletes_its_document(self) -> None:
        world = nekt()
        for kind in ("destination", "visualization", "history"):
            world.do(save(kind, inputs="flights", **(missing("raw", "made") if kind == "history" else {})), by=FOUNDER)
            assert world.store.document("pipeline", NEW) == {"v": 1}
            world.do(DeletePipeline(NEW), by=FOUNDER)
            assert world.store.document("pipeline", NEW) is None


class TestConnections:
    """Design, section 6: the user who saves a pipeline and its run-as principal both need to use its connections."""

    def test_saving_a_pipeline_requires_the_use_of_its_connection(self) -> None:
        world = nekt()
        world.do(CreateConnection(FILES, PROJECT, "files", Folder("/files")), by=FOUNDER)
        world.do(role(ANN, "editor", "raw"))
        load = save("source", connections="files", **missing("raw", "made"))

        world.refuse(load, NotFoundError, "files", by=ANN)
        world.do(role(ANN, "connection_user", "files"))
        world.do(load, by=ANN)
        world.do(RevokeRole(ANN, "connection_user", FILES))

        assert lacks(world, ANN) == ["`connection.use` on `files`: it does not hold any role that allows this action"]
        world.refuse(load, NotFoundError, "files", by=ANN)

    def test_a_connection_of_the_source_counts_for_a_stream_capture(self) -> None:
        world = _capturing()
        world.do(role(ANN, "user", "cluster"), role(ANN, "CREATE_TABLE", "one"), role(ANN, "viewer", "feed"))
        capture = save("stream_capture", "project", **_captured())

        world.refuse(capture, NotFoundError, "files", by=ANN)
        world.do(role(ANN, "connection_user", "files"))
        world.do(capture, by=ANN)
        world.do(RevokeRole(ANN, "connection_user", FILES))

        assert [each.partition(":")[0] for each in lacks(world, ANN)] == ["`connection.use` on `files`"]


def _capturing() -> OrganizationHarness:
    """Return an organization under Onehouse with the founder's connection `files` and source `feed`."""
    world = onehouse()
    world.do(role(FOUNDER, "admin", "project"))
    world.do(CreateConnection(FILES, ResourceId("project"), "files", Folder("/files")), by=FOUNDER)
    world.do(save("source", "project", ResourceId("feed"), connections="files"), by=FOUNDER)
    return world


def _captured(**more: str) -> dict[str, Any]:
    return {"cluster": "cluster", "target": "one", "source": "feed", **missing("one", "made"), **more}


class TestUnderOnehouse:
    """3.5: the privileges to create each kind of pipeline, and those that its runs need."""

    def test_a_source_may_be_created_by_any_member_of_the_project(self) -> None:
        world, source = onehouse(), save("source", "project")

        world.refuse(source, PermissionDeniedError, "create_source", by=EVE)
        world.do(source, by=ANN)

        assert world.roles(ANN, NEW) == {"manager"}
        assert lacks(world, ANN) == []

    def test_a_stream_capture_requires_rights_on_its_cluster_and_its_target(self) -> None:
        world, capture = _capturing(), save("stream_capture", "project", **_captured())
        world.do(role(ANN, "connection_user", "files"), role(ANN, "viewer", "feed"))
        world.do(role(ANN, "viewer", "cluster"), role(ANN, "DESCRIBE", "one"))

        world.refuse(capture, PermissionDeniedError, "create_stream_capture", by=ANN)
        world.do(role(ANN, "user", "cluster"))
        world.refuse(capture, PermissionDeniedError, "create_stream_capture", by=ANN)
        world.do(role(ANN, "CREATE_TABLE", "one"))
        world.do(capture, by=ANN)
        assert lacks(world, ANN) == []

        world.do(RevokeRole(ANN, "user", ResourceId("cluster")))
        assert [each.partition(":")[0] for each in lacks(world, ANN)] == [
            "`project.create_stream_capture` on `project`"
        ]

    def test_a_stream_capture_requires_its_source_if_source_roles_are_on(self) -> None:
        world, capture = _capturing(), save("stream_capture", "project", **_captured())
        world.do(role(ANN, "connection_user", "files"), role(ANN, "viewer", "feed"))
        world.do(role(ANN, "user", "cluster"), role(ANN, "CREATE_TABLE", "one"))
        world.do(ChangeSetting(ResourceId("project"), "source_roles", "true"))

        world.refuse(capture, PermissionDeniedError, "create_stream_capture", by=ANN)
        world.do(role(ANN, "user", "feed"))
        world.do(capture, by=ANN)

    def test_an_edit_that_names_a_new_cluster_requires_the_rights_of_creating_it(self) -> None:
        world = _capturing()
        world.do(resource("other", "cluster", "project"))
        world.do(save("stream_capture", "project", **_captured()), by=FOUNDER)
        world.do(role(ANN, "editor", NEW), role(ANN, "connection_user", "files"), role(ANN, "viewer", "feed"))
        world.do(role(ANN, "viewer", "cluster"), role(ANN, "viewer", "other"), role(ANN, "DESCRIBE", "one"))

        world.do(save("stream_capture", "project", **_captured()), by=ANN)
        moved = save("stream_capture", "project", **_captured(cluster="other"))
        world.refuse(moved, PermissionDeniedError, "move_to_cluster", by=ANN)
        world.do(role(ANN, "user", "other"))
        world.refuse(moved, PermissionDeniedError, "create_stream_capture", by=ANN)
        world.do(role(ANN, "CREATE_TABLE", "one"))
        world.do(moved, by=ANN)

    @pytest.mark.parametrize(("kind", "privilege"), [("compaction", "ALTER"), ("metasync", "SELECT")])
    def test_a_table_service_requires_the_cluster_of_its_table_and_a_privilege(self, kind: str, privilege: str) -> None:
        world, service = onehouse(), save("table_service", "table", attributes={"kind": (kind,)})
        world.do(role(ANN, "DESCRIBE", "table"))

        world.refuse(service, PermissionDeniedError, "create_table_service", by=ANN)
        world.do(role(ANN, "user", "cluster"))
        world.refuse(service, PermissionDeniedError, "create_table_service", by=ANN)
        world.do(role(ANN, privilege, "table"))
        world.do(service, by=ANN)
        assert lacks(world, ANN) == []

        world.do(RevokeRole(ANN, privilege, ResourceId("table")))
        assert [each.partition(":")[0] for each in lacks(world, ANN)] == [
            "`table.create_table_service` on `lake.one.table`"
        ]

    def test_a_table_service_changes_its_kind_only_with_the_privilege_of_the_new_kind(self) -> None:
        world = onehouse()
        world.do(role(FOUNDER, "admin", "project"))
        world.do(save("table_service", "table", attributes={"kind": ("metasync",)}), by=FOUNDER)
        world.do(role(ANN, "DESCRIBE", "table"), role(ANN, "user", "cluster"), role(ANN, "SELECT", "table"))

        world.do(save("table_service", "table", attributes={"kind": ("metasync",)}), by=ANN)
        world.refuse(
            save("table_service", "table", attributes={"kind": ("compaction",)}), PermissionDeniedError, by=ANN
        )


class TestUnderY42:
    """2.5: creating a pipeline needs the privilege to create a child; its run-as principal needs access to its tables."""

    def test_an_editor_of_a_y42_module_may_create_queries_and_integrations(self) -> None:
        world, model = y42(), save("query", "module")
        world.do(role(ANN, "viewer", "module"))

        world.refuse(model, PermissionDeniedError, "create_query", by=ANN)
        world.refuse(save("history", "module"), InvalidError, "do not have the type `history`", by=FOUNDER)
        world.do(role(ANN, "editor", "module"))
        world.do(model, save("integration", "module", ResourceId("feed")), by=ANN)
        world.do(model, by=ANN)

        world.do(RevokeRole(ANN, "editor", ResourceId("module")))
        world.refuse(model, PermissionDeniedError, "edit", by=ANN)


class TestServicePrincipals:
    def _world(self) -> OrganizationHarness:
        world = nekt()
        world.do(CreateServicePrincipal(BOT, "the bot", "member"), role(ANN, "editor", "raw"))
        return world

    def test_an_author_sets_a_run_as_service_principal_that_they_may_act_as(self) -> None:
        world = self._world()
        bots = save(inputs="flights", run_as=BOT, **missing("raw", "made"))

        world.refuse(bots, PermissionDeniedError, "manage_users", by=ANN)
        world.refuse(bots, InvalidError, "may not do `table.select` on `lake.raw.flights`", by=FOUNDER)
        world.do(role(BOT, "editor", "raw"))
        world.do(bots, by=FOUNDER)

        assert world.facts.run_as[NEW] == BOT
        world.refuse(bots, PermissionDeniedError, "manage_users", by=ANN)
        world.do(save(inputs="flights", **missing("raw", "made")), by=ANN)
        assert world.facts.run_as[NEW] == ANN

    def test_another_user_cannot_be_the_run_as_principal(self) -> None:
        world = self._world()
        world.do(role(BEN, "editor", "raw"))

        for who in (BEN, PrincipalId("nobody")):
            world.refuse(
                save(inputs="flights", run_as=who, **missing("raw", "made")),
                InvalidError,
                "service principal",
                by=FOUNDER,
            )
        world.do(save(inputs="flights", run_as=FOUNDER, **missing("raw", "made")), by=FOUNDER)

    def test_adding_a_stream_requires_acting_as_the_run_as_and_leaves_it_unchanged(self) -> None:
        world = self._world()
        world.do(role(BOT, "editor", "raw"))
        world.do(save("source", run_as=BOT, **missing("raw", "made")), by=FOUNDER)
        add = AddStream(NEW, missing("raw", "more"), {"v": 2})

        world.refuse(add, PermissionDeniedError, "manage_users", by=ANN)
        world.do(add, by=FOUNDER)

        assert world.facts.run_as[NEW] == BOT

    def test_a_user_of_a_service_principal_may_set_it_as_run_as_under_onehouse(self) -> None:
        world = onehouse()
        world.do(role(BOT, "member", "project"), role(ANN, "user", BOT))
        world.do(save("source", "project", run_as=BOT), by=ANN)
        assert world.facts.run_as[NEW] == BOT

        world.do(DeleteServicePrincipal(BOT))
        world.refuse(save("source", "project", run_as=BOT), InvalidError, "service principal", by=ANN)
        world.do(save("source", "project"), by=ANN)
        assert world.facts.run_as[NEW] == ANN


class TestANarrowedToken:
    def test_a_narrowed_token_saves_only_pipelines_on_tables_that_it_may_use(self) -> None:
        """Otherwise the runs would do for the token's holder what the token may not do."""
        world = onehouse()
        world.do(role(ANN, "user", "cluster"), role(ANN, "ALL", "lake"))
        world.do(save("source", "project"), by=ANN)
        capture = save("stream_capture", "project", id=CAPTURE, source="new", cluster="cluster", target="one")
        wider = replace(capture, relations={**capture.relations, "outputs": edges("table")})
        world.do(capture, by=ANN)
        seen = tuple(f"{type}.describe" for type in ("source", "cluster", "database", "table", "stream_capture"))
        world.do(IssueToken(TOKEN, "s", ANN, actions=(*seen, "stream_capture.edit")), by=ANN)

        world.refuse(
            wider, InvalidError, "your token is limited to some resources or actions and may not", by=Caller(ANN, TOKEN)
        )
        world.do(wider, by=ANN)


def test_a_deleted_cluster_is_reported_as_a_missing_privilege() -> None:
    world = _capturing()
    world.do(save("stream_capture", "project", **_captured()), by=FOUNDER)
    assert lacks(world, FOUNDER) == []

    world.do(DeleteResource(ResourceId("cluster")), by=FOUNDER)

    assert len(lacks(world, FOUNDER)) == 1
