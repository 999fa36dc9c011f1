from headgate.control.identity.groups import ChangeMembership, CreateGroup
from headgate.control.kernel.batch import Batch
from headgate.control.kernel.command import Command, PermissionDeniedError
from headgate.control.kernel.errors import InvalidError
from headgate.facts.ids import GroupId
from tests.control.organization_harness import ANN, BEN, FOUNDER, nekt, role


def several(*commands: Command) -> Batch:
    return Batch(commands, "several")


class TestSeveralCommands:
    def test_a_batch_is_one_revision_with_one_name(self) -> None:
        world = nekt()
        before = world.facts.revision

        facts = world.do(several(role(ANN, "viewer", "raw"), role(BEN, "viewer", "raw")), by=FOUNDER)

        assert facts.revision == before + 1
        assert world.store.log[-1].command == "several"
        assert [each.action for each in world.store.log[-1].grounds] == ["assignment.add", "assignment.add"]

    def test_each_command_of_a_batch_is_decided_after_the_ones_before_it(self) -> None:
        world, crew = nekt(), GroupId("band")

        world.do(several(CreateGroup(crew, "band"), ChangeMembership(crew, ANN, member=True)), by=FOUNDER)

        assert world.facts.groups[crew].members == {ANN}

    def test_a_batch_is_written_completely_or_not_at_all(self) -> None:
        world = nekt()
        world.do(role(ANN, "manager", "raw"), role(ANN, "viewer", "secret"))

        world.refuse(several(role(BEN, "viewer", "raw"), role(BEN, "viewer", "secret")), PermissionDeniedError, by=ANN)

    def test_an_empty_batch_is_refused(self) -> None:
        nekt().refuse(several(), InvalidError, "the request changes nothing", by=ANN)
