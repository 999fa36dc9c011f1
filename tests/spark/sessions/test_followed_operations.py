"""Rows that outlive their operation are decided again by what the operation was allowed."""

import gc
from collections.abc import Sequence

from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.spark.sessions.followed_operations import FollowedOperations
from headgate.spark.sessions.privileges import RequiredName, RequiredPrivilege

ANN = Caller(PrincipalId("ann"))
READ = RequiredName(action="table.select", object=("lake", "raw", "t"))
KNOW = RequiredName(action="discover", object=("lake", "raw"))


class Rights:
    """A judge of one organization: it refuses `denied`, and `resources` are what names mean."""

    def __init__(self) -> None:
        self.denied: dict[RequiredPrivilege, str] = {}
        self.resources = dict[RequiredPrivilege, ResourceId]()
        self.resources[READ] = ResourceId("t-1")

    def refusal(self, caller: Caller, needs: Sequence[RequiredPrivilege]) -> str | None:
        return next((f"{caller.principal}: {self.denied[need]}" for need in needs if need in self.denied), None)

    def resource(self, need: RequiredPrivilege) -> ResourceId | None:
        return self.resources.get(need)


def test_every_need_of_an_operation_is_asked_for_again() -> None:
    operations, rights = FollowedOperations(), Rights()
    followed = operations.follow("one")
    operations.record("one", rights, [KNOW])
    operations.record("one", rights, [READ])
    assert followed.refusal(ANN) is None

    rights.denied[READ] = "the right is gone"

    assert followed.refusal(ANN) == "ann: the right is gone"


def test_needs_of_another_operation_do_not_count() -> None:
    operations, rights = FollowedOperations(), Rights()
    followed, another = operations.follow("one"), operations.follow("two")
    operations.record("two", rights, [READ])
    operations.record("not followed", rights, [READ])
    rights.denied[READ] = "the right is gone"

    assert followed.refusal(ANN) is None
    assert another.refusal(ANN) is not None


def test_the_judge_that_allowed_a_need_is_asked_again() -> None:
    operations, here, there = FollowedOperations(), Rights(), Rights()
    followed = operations.follow("one")
    operations.record("one", here, [READ])

    there.denied[READ] = "refused in another organization"
    assert followed.refusal(ANN) is None
    here.denied[READ] = "refused here"

    assert followed.refusal(ANN) == "ann: refused here"


def test_a_name_that_passes_to_another_table_gives_no_rows_of_the_former_one() -> None:
    operations, rights = FollowedOperations(), Rights()
    followed = operations.follow("one")
    operations.record("one", rights, [READ])

    rights.resources[READ] = ResourceId("t-2")

    assert followed.refusal(ANN) == (
        "`lake.raw.t` is not the resource that the rows were read from; run the statement again"
    )


def test_a_table_that_a_script_creates_again_counts_as_the_one_that_it_reads() -> None:
    operations, rights = FollowedOperations(), Rights()
    followed = operations.follow("one")
    operations.record("one", rights, [READ])
    rights.resources[READ] = ResourceId("t-2")

    operations.record("one", rights, [READ])

    assert followed.refusal(ANN) is None


def test_an_operation_is_forgotten_with_its_last_holder() -> None:
    operations, rights = FollowedOperations(), Rights()
    followed = operations.follow("one")
    operations.record("one", rights, [READ])
    rights.denied[READ] = "the right is gone"

    del followed
    gc.collect()

    assert operations.follow("one").refusal(ANN) is None
