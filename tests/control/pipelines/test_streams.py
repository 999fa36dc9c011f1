"""Streams of a source: added, enabled and disabled."""

from headgate.control.connections.commands import CreateConnection, Folder
from headgate.control.kernel.command import PermissionDeniedError
from headgate.control.kernel.errors import InvalidError, NotFoundError
from headgate.control.pipelines.commands import SavePipeline
from headgate.control.pipelines.streams import AddStream, SwitchStream
from headgate.facts.changes import Edge, RunStarted
from headgate.facts.ids import ResourceId, RunId
from tests.control.organization_harness import ANN, BEN, EVE, FOUNDER, PROJECT, OrganizationHarness, nekt, role

LOAD, FILES, RAW = ResourceId("load"), ResourceId("files"), ResourceId("raw")
MORE = {"output_layers": (Edge(RAW, name="more"),), "outputs": (Edge(RAW, name="more"),)}


def source() -> OrganizationHarness:
    """The founder's source `load` writes `flights` and, once it exists, `delays`; ann edits `raw`, ben views it."""
    world = nekt()
    world.do(role(ANN, "editor", "raw"), role(BEN, "viewer", "raw"))
    world.do(CreateConnection(FILES, PROJECT, "files", Folder("/files")), by=FOUNDER)
    relations = {
        "connections": (Edge(FILES),),
        "output_layers": (Edge(RAW, name="flights"), Edge(RAW, name="delays")),
        "outputs": (Edge(ResourceId("flights"), name="stream"), Edge(RAW, name="delays")),
    }
    world.do(SavePipeline(LOAD, ResourceId(PROJECT), "source", "load", relations, {"v": 1}), by=FOUNDER)
    return world


def switch(title: str, *, enabled: bool) -> SwitchStream:
    return SwitchStream(LOAD, RAW, (title,), enabled, {"v": 2})


def written(world: OrganizationHarness, relation: str) -> dict[str, bool]:
    return {edge.name: edge.enabled for edge in world.facts.resources[LOAD].relations[relation]}


class TestAdding:
    def test_adding_a_stream_requires_action_and_connection_and_sets_the_run_as(self) -> None:
        world = source()
        add = AddStream(LOAD, MORE, {"v": 2})

        world.refuse(add, PermissionDeniedError, "add_stream", by=BEN)
        world.refuse(add, NotFoundError, by=EVE)
        world.refuse(add, NotFoundError, "files", by=ANN)
        world.do(role(ANN, "connection_user", "files"))
        world.do(add, by=ANN)

        assert world.facts.run_as[LOAD] == ANN
        assert written(world, "output_layers") == {"flights": True, "delays": True, "more": True}
        assert world.store.document("pipeline", LOAD) == {"v": 2}

    def test_adding_a_stream_is_refused_during_a_run_and_to_the_deployment(self) -> None:
        world = source()
        world.store.write(RunStarted(RunId("run"), LOAD, FOUNDER))
        world.reopen()

        world.refuse(AddStream(LOAD, MORE, {}), InvalidError, "under way", by=FOUNDER)
        world.refuse(AddStream(LOAD, MORE, {}), InvalidError, "by a user or a service principal")


class TestSwitching:
    def test_disabling_a_stream_leaves_the_run_as_principal_unchanged(self) -> None:
        world = source()

        world.refuse(switch("flights", enabled=False), PermissionDeniedError, "disable_stream", by=BEN)
        world.do(switch("flights", enabled=False), by=ANN)

        assert written(world, "outputs") == {"stream": False, "delays": True}
        assert written(world, "output_layers") == {"flights": False, "delays": True}
        assert world.facts.run_as[LOAD] == FOUNDER

    def test_enabling_a_stream_requires_the_connection_and_sets_the_run_as(self) -> None:
        world = source()
        world.do(switch("delays", enabled=False), by=ANN)

        world.refuse(switch("delays", enabled=True), NotFoundError, "files", by=ANN)
        world.do(role(ANN, "connection_user", "files"))
        world.do(switch("delays", enabled=True), by=ANN)

        assert written(world, "outputs") == {"stream": True, "delays": True}
        assert world.facts.run_as[LOAD] == ANN

    def test_a_stream_that_the_source_does_not_write_is_not_found(self) -> None:
        source().refuse(switch("nothing", enabled=False), NotFoundError)
