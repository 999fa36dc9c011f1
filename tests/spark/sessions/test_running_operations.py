"""Running operations are authorized again; an operation whose privilege was revoked is reported as refused."""

from collections.abc import Sequence

import pytest
from typing_extensions import override

from headgate.control.kernel.ports import LogRefusedError
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.spark.authority import Revocation
from headgate.spark.sessions.privileges import RequiredName, RequiredPath, RequiredPrivilege
from headgate.spark.sessions.running_operations import (
    PER_SESSION,
    SESSION_ENDED,
    UNHEARD_SECONDS,
    UNREADABLE,
    RunningOperations,
    TooManyOperationsError,
)
from headgate.spark.sessions.sessions import SparkSessions

ANN = Caller(PrincipalId("ann"))
READ = RequiredName(action="table.select", object=("lake", "raw", "t"))
DROP = RequiredName(action="table.drop", object=("lake", "raw", "t"), is_removed=True)
DROP_DATABASE = RequiredName(action="database.drop", object=("lake", "raw"), is_removed=True)
OLD, NEW = ResourceId("t-1"), ResourceId("t-2")
FILE = RequiredPath(action="path.read", path="/in/a.csv")


class Scene:
    """The operations of one session, the currently refused privileges, and the time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.taken: set[RequiredPrivilege] = set()
        self.named: dict[RequiredPrivilege, ResourceId] = {}
        self.names: dict[ResourceId, tuple[str, ...]] = {}
        self.sessions = SparkSessions()
        self.handle = self.sessions.open(ANN, "s")
        self.works = RunningOperations(self.sessions, self, lambda: self.now)

    def refusal(self, caller: Caller, needs: Sequence[RequiredPrivilege]) -> str | None:
        return "no more" if caller == ANN and self.taken & set(needs) else None

    def resource(self, need: RequiredPrivilege) -> ResourceId | None:
        return self.named.get(need)

    def full_name(self, resource: ResourceId) -> tuple[str, ...] | None:
        return self.names.get(resource)

    def refused(self, *running: str) -> list[Revocation]:
        return self.works.revoked([(self.handle, each) for each in running])


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_an_operation_that_is_still_allowed_goes_on(scene: Scene) -> None:
    scene.works.record(scene.handle, "op", [READ])

    assert scene.refused("op") == []


@pytest.mark.parametrize("taken", [READ, FILE])
def test_an_operation_that_needs_a_revoked_right_is_refused_until_it_ends(
    scene: Scene, taken: RequiredPrivilege
) -> None:
    scene.works.record(scene.handle, "op", [READ])
    scene.works.record(scene.handle, "op", [FILE])
    scene.works.record(scene.handle, "other", [])

    scene.taken.add(taken)

    found = [Revocation(scene.handle, "op", "no more")]
    assert scene.refused("op", "other") == found
    assert scene.refused("op", "other") == found
    scene.works.finished(scene.handle, "op")
    assert scene.refused("other") == []


def test_an_operation_is_refused_while_the_log_of_its_organization_is_unreadable(scene: Scene) -> None:
    class Unreadable(Scene):
        @override
        def refusal(self, caller: Caller, needs: Sequence[RequiredPrivilege]) -> str | None:
            raise LogRefusedError("its log cannot be read")

    works = RunningOperations(scene.sessions, Unreadable())
    works.record(scene.handle, "op", [READ])

    assert works.revoked([(scene.handle, "op")]) == [Revocation(scene.handle, "op", UNREADABLE)]
    assert works.refusal(scene.handle, "op") == UNREADABLE


def test_the_operations_of_an_ended_session_are_refused(scene: Scene) -> None:
    scene.works.record(scene.handle, "stream:1", [READ])
    scene.sessions.close(scene.handle)

    assert scene.refused("op") == [
        Revocation(scene.handle, "op", SESSION_ENDED),
        Revocation(scene.handle, "stream:1", SESSION_ENDED),
    ]


def test_an_operation_that_does_not_run_is_forgotten_later_and_a_stream_is_not(scene: Scene) -> None:
    for operation in ("op", "runs", "stream:1"):
        scene.works.record(scene.handle, operation, [READ])

    scene.refused("runs")
    assert len(scene.works) == 3

    scene.now += UNHEARD_SECONDS + 1
    scene.refused("runs")
    assert len(scene.works) == 2
    scene.sessions.close(scene.handle)
    scene.refused()
    assert len(scene.works) == 0


def test_a_session_has_a_bounded_number_of_operations_and_drops_its_oldest_stream(scene: Scene) -> None:
    scene.works.record(scene.handle, "stream:1", [READ])
    for number in range(PER_SESSION - 1):
        scene.works.record(scene.handle, str(number), [READ])

    scene.works.record(scene.handle, "new", [READ])

    assert len(scene.works) == PER_SESSION
    with pytest.raises(TooManyOperationsError):
        scene.works.record(scene.handle, "newer", [READ])
    scene.works.record(scene.handle, "new", [FILE])


def test_the_rights_of_an_ended_stream_are_checked_while_its_session_is_open(scene: Scene) -> None:
    scene.works.record(scene.handle, "stream:1", [READ])
    scene.works.finished(scene.handle, "stream:1")
    scene.now += UNHEARD_SECONDS + 1
    assert scene.works.refusal(scene.handle, "stream:1") is None

    scene.taken.add(READ)

    assert scene.refused() == []
    assert len(scene.works) == 0
    assert scene.works.refusal(scene.handle, "stream:1") == "no more"
    scene.sessions.close(scene.handle)
    assert scene.works.refusal(scene.handle, "stream:1") == SESSION_ENDED


@pytest.mark.parametrize("drop", [DROP, DROP_DATABASE])
def test_a_statement_goes_on_after_it_has_dropped_its_table_with_permission(
    scene: Scene, drop: RequiredPrivilege
) -> None:
    scene.named = {READ: OLD, drop: OLD}
    scene.works.record(scene.handle, "op", [READ, drop])

    scene.named.clear()
    scene.taken |= {READ, drop}

    assert scene.refused("op") == []
    assert scene.works.refusal(scene.handle, "op") is None


def test_a_statement_that_drops_its_table_during_the_check_goes_on(scene: Scene) -> None:
    class Dropping(Scene):
        @override
        def refusal(self, caller: Caller, needs: Sequence[RequiredPrivilege]) -> str | None:
            self.named.clear()
            return "there is no such table" if DROP in needs else None

    judge = Dropping()
    judge.named = {READ: OLD, DROP: OLD}
    works = RunningOperations(scene.sessions, judge)
    works.record(scene.handle, "op", [READ, DROP])

    assert works.refusal(scene.handle, "op") is None


def test_a_statement_of_a_user_that_renames_without_end_is_checked_twice_only(scene: Scene) -> None:
    class Renaming(Scene):
        asked = 0

        @override
        def refusal(self, caller: Caller, needs: Sequence[RequiredPrivilege]) -> str | None:
            self.asked += 1
            self.named = {READ: OLD, DROP: OLD} if self.asked % 2 else {}
            return "there is no such table"

    judge = Renaming()
    judge.named = {READ: OLD, DROP: OLD}
    works = RunningOperations(scene.sessions, judge)
    works.record(scene.handle, "op", [READ, DROP])
    judge.named = {}

    assert works.refusal(scene.handle, "op") == "there is no such table"
    assert judge.asked == 2


def test_a_statement_is_refused_if_its_table_is_gone_and_it_had_no_right_to_drop_it(scene: Scene) -> None:
    scene.named = {READ: OLD}
    scene.works.record(scene.handle, "op", [READ])
    scene.works.record(scene.handle, "other", [DROP])

    scene.named.clear()
    scene.taken.add(READ)

    assert scene.refused("op", "other") == [Revocation(scene.handle, "op", "no more")]


def test_a_statement_that_may_drop_its_table_is_refused_when_its_right_is_revoked(scene: Scene) -> None:
    scene.named = {READ: OLD, DROP: OLD}
    scene.works.record(scene.handle, "op", [READ, DROP])

    scene.taken.add(READ)

    assert scene.refused("op") == [Revocation(scene.handle, "op", "no more")]


def test_a_statement_that_renames_its_table_needs_the_rights_under_the_new_name(scene: Scene) -> None:
    moved = RequiredName(action="table.select", object=("lake", "secret", "t"))
    scene.named = {READ: OLD, DROP: OLD}
    scene.works.record(scene.handle, "op", [READ, DROP])
    scene.named, scene.names = {}, {OLD: moved.object}

    scene.taken = {READ, DROP}
    assert scene.refused("op") == []
    scene.taken = {moved}
    [refused] = scene.refused("op")
    assert (
        refused.message
        == "`lake.raw.t` was renamed, and you may not read it under its new name; ask the owner of the table for access"
    )


def test_a_statement_that_replaces_its_table_needs_the_rights_on_the_new_one(scene: Scene) -> None:
    scene.named = {READ: OLD, DROP: OLD}
    scene.works.record(scene.handle, "op", [READ, DROP])
    scene.named = {READ: NEW, DROP: NEW}
    scene.works.record(scene.handle, "op", [READ])

    scene.taken.add(DROP)
    assert scene.refused("op") == []
    scene.taken.add(READ)
    assert scene.refused("op") == [Revocation(scene.handle, "op", "no more")]
