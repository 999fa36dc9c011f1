"""The privileges of a table service's run, decided at each call by those that its creation needs (MODELS 3.5)."""

from dataclasses import dataclass

import pytest

from headgate.control.access.assignments import RevokeRole
from headgate.control.identity.directory import Directory
from headgate.control.pipelines.commands import SavePipeline
from headgate.control.questions.hidden_names import NameAuthorizer
from headgate.control.questions.messages import RefusalMessages
from headgate.decision.reference import decide
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId, RunId
from tests.control.organization_harness import ANN, MODELS, OrganizationHarness, onehouse, resource, role
from tests.fakes.runs import begin

RUN = RunId("run")
CALLER = Caller(ANN, run=RUN)
TABLE, OTHER = ("lake", "one", "table"), ("lake", "one", "other")
REWRITE, EXPIRE = "rewrite_data_files", "expire_snapshots"


@dataclass
class Running:
    """A service of `table` that runs as ann; she may use the cluster and holds one privilege on `table`, another on `other`."""

    world: OrganizationHarness
    gate: NameAuthorizer

    def may(self, *, procedure: str = REWRITE, table: tuple[str, ...] = TABLE, arguments: tuple[str, ...] = ()) -> bool:
        return self.gate.may_run_procedure(CALLER, table, procedure, ("table", *arguments))


def running(kind: str = "compaction", privilege: str = "ALTER") -> Running:
    world = onehouse()
    world.do(resource("other", "table", "one", services_cluster="cluster"), role(ANN, "user", "cluster"))
    world.do(role(ANN, privilege, "table"), role(ANN, "ALL", "other"))
    attributes = {"kind": (kind,)}
    id, table = ResourceId("service"), ResourceId("table")
    world.do(SavePipeline(id, table, "table_service", "service", {}, {}, attributes), by=ANN)
    begin(world.control, world.store, RUN, id)
    directory = Directory(world.control, world.store)
    return Running(world, NameAuthorizer(world.control, RefusalMessages(directory)))


class TestARun:
    def test_a_service_run_may_call_the_procedure_of_its_kind_on_its_table(self) -> None:
        run = running()

        assert run.may(arguments=("options",))
        assert run.gate.is_service_run(CALLER, TABLE)
        assert run.gate.discover(CALLER, TABLE).allowed

    @pytest.mark.parametrize(
        "other",
        [{"procedure": EXPIRE}, {"table": OTHER}, {"arguments": ("where",)}, {"arguments": ("strategy",)}],
        ids=str,
    )
    def test_a_service_run_may_call_no_other_procedure_table_or_argument(self, other: dict[str, object]) -> None:
        assert not running().may(**other)  # pyright: ignore[reportArgumentType]

    def test_a_service_run_has_no_action_on_data_even_if_its_principal_holds_all(self) -> None:
        run = running(privilege="ALL")
        actions = ("select", "insert", "update", "delete_rows", "alter", "drop", "describe")

        for name in (TABLE, OTHER):
            assert not any(run.gate.check(CALLER, f"table.{each}", name).allowed for each in actions)
        assert not run.gate.discover(CALLER, OTHER).discoverable

    def test_a_service_run_is_denied_everything_once_its_principal_loses_the_right(self) -> None:
        for lost in (RevokeRole(ANN, "ALTER", ResourceId("table")), RevokeRole(ANN, "user", ResourceId("cluster"))):
            run = running()

            run.world.do(lost)

            assert not run.may()
            assert not run.gate.discover(CALLER, TABLE).allowed

    def test_a_metadata_sync_run_may_call_no_file_procedure(self) -> None:
        assert not any(running("metasync", "SELECT").may(procedure=each) for each in (REWRITE, EXPIRE))

    def test_the_engine_and_the_reference_decide_table_services_alike(self) -> None:
        run = running()
        for kind in ("compaction", "metasync", "unheard of"):
            for table in ("table", "other"):
                question = Question(CALLER, "table.create_table_service", ResourceId(table), given={"kind": (kind,)})
                decided = decide(MODELS, run.world.facts, question, run.world.now).allowed

                assert run.world.control.ask(question).allowed == decided == ((kind, table) == ("compaction", "table"))


def test_a_user_outside_a_run_may_call_no_table_procedure() -> None:
    run = running(privilege="ALL")

    assert not run.gate.is_service_run(Caller(ANN), TABLE)
    assert not run.gate.may_run_procedure(Caller(ANN), TABLE, REWRITE, ("table",))
