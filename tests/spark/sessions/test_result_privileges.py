"""Rows that outlive their operation are authorized again with the privileges that the operation needed."""

import gc
from collections.abc import Sequence

from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.spark.sessions.privileges import RequiredName, RequiredPrivilege
from headgate.spark.sessions.result_privileges import ResultPrivilegeRegistry

ANN = Caller(PrincipalId("ann"))
READ = RequiredName(action="table.select", object=("lake", "raw", "t"))
KNOW = RequiredName(action="discover", object=("lake", "raw"))


class Rights:
    """The decisions of one organization: it refuses `denied`; `resources` maps names to resources."""

    def __init__(self) -> None:
        self.denied: dict[RequiredPrivilege, str] = {}
        self.resources = dict[RequiredPrivilege, ResourceId]()
        self.resources[READ] = ResourceId("t-1")

    def refusal(self, caller: Caller, needs: Sequence[RequiredPrivilege]) -> str | None:
        return next((f"{caller.principal}: {self.denied[need]}" for need in needs if need in self.denied), None)

    def resource(self, need: RequiredPrivilege) -> ResourceId | None:
        return self.resources.get(need)


def test_every_right_that_an_operation_needed_is_checked_again() -> None:
    operations, rights = ResultPrivilegeRegistry(), Rights()
    found = operations.register("one")
    operations.record("one", rights, [KNOW])
    operations.record("one", rights, [READ])
    assert found.refusal(ANN) is None

    rights.denied[READ] = "the right is gone"

    assert found.refusal(ANN) == "ann: the right is gone"


def test_rights_that_another_operation_needed_are_not_checked() -> None:
    operations, rights = ResultPrivilegeRegistry(), Rights()
    found, another = operations.register("one"), operations.register("two")
    operations.record("two", rights, [READ])
    operations.record("not registered", rights, [READ])
    rights.denied[READ] = "the right is gone"

    assert found.refusal(ANN) is None
    assert another.refusal(ANN) is not None


def test_each_right_is_checked_again_in_the_organization_that_granted_it() -> None:
    operations, here, there = ResultPrivilegeRegistry(), Rights(), Rights()
    found = operations.register("one")
    operations.record("one", here, [READ])

    there.denied[READ] = "refused in another organization"
    assert found.refusal(ANN) is None
    here.denied[READ] = "refused here"

    assert found.refusal(ANN) == "ann: refused here"


def test_rows_are_refused_if_the_name_of_their_table_belongs_to_another_table() -> None:
    operations, rights = ResultPrivilegeRegistry(), Rights()
    found = operations.register("one")
    operations.record("one", rights, [READ])

    rights.resources[READ] = ResourceId("t-2")

    assert found.refusal(ANN) == (
        "`lake.raw.t` no longer names the resource that the rows were read from; run the statement again"
    )


def test_rows_of_a_table_that_the_script_itself_replaced_are_allowed() -> None:
    operations, rights = ResultPrivilegeRegistry(), Rights()
    found = operations.register("one")
    operations.record("one", rights, [READ])
    rights.resources[READ] = ResourceId("t-2")

    operations.record("one", rights, [READ])

    assert found.refusal(ANN) is None


def test_an_operation_is_forgotten_with_its_last_holder() -> None:
    operations, rights = ResultPrivilegeRegistry(), Rights()
    found = operations.register("one")
    operations.record("one", rights, [READ])
    rights.denied[READ] = "the right is gone"

    del found
    gc.collect()

    assert operations.register("one").refusal(ANN) is None
