from headgate.control.identity.groups import ChangeMembership, CreateGroup
from headgate.control.kernel.batch import Batch
from headgate.control.kernel.command import Command, PermissionDeniedError
from headgate.control.kernel.errors import InvalidError
from headgate.facts.ids import GroupId
from tests.control.organization_harness import ANN, BEN, FOUNDER, nekt, role


def several(*commands: Command) -> Batch:
    return Batch(commands, "several")


class TestSeveralCommands:
    def test_are_one_revision_with_one_name(self) -> None:
        world = nekt()
        before = world.facts.revision

        facts = world.do(several(role(ANN, "viewer", "raw"), role(BEN, "viewer", "raw")), by=FOUNDER)

        assert facts.revision == before + 1
        assert world.store.log[-1].command == "several"
        assert [each.action for each in world.store.log[-1].grounds] == ["assignment.add", "assignment.add"]

    def test_are_decided_on_what_those_before_them_leave(self) -> None:
        world, crew = nekt(), GroupId("band")

        world.do(several(CreateGroup(crew, "band"), ChangeMembership(crew, ANN, member=True)), by=FOUNDER)

        assert world.facts.groups[crew].members == {ANN}

    def test_are_all_written_or_none(self) -> None:
        world = nekt()
        world.do(role(ANN, "manager", "raw"), role(ANN, "viewer", "secret"))

        world.refuse(several(role(BEN, "viewer", "raw"), role(BEN, "viewer", "secret")), PermissionDeniedError, by=ANN)

    def test_are_at_least_one(self) -> None:
        nekt().refuse(several(), InvalidError, "nothing is to be different", by=ANN)
