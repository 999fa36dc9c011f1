"""Staleness is found after a write of any process, and costs no read of the logs while only this process writes."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.control.access.assignments import AssignRole
from headgate.control.kernel.ports import LogWrite
from headgate.control.kernel.stores import Stores
from headgate.control.models.library import FixedModels
from headgate.control.organizations.organization import Organizations
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.store import open_stores
from tests.fakes.small_organization import MEMBER, MODELS, NOW, OWNER, PEOPLE, RAW, ROOT, THINGS

BETA, CLOSED = ResourceId("beta"), ResourceId("closed")
LOGS = (ROOT, BETA, CLOSED)


class _Deployment:
    """A folder with three logs, two of which are open; other processes write to them too."""

    def __init__(self, folder: Path) -> None:
        self.stores, self.elsewhere = open_stores(folder), open_stores(folder)
        for root in LOGS:
            _append(self.elsewhere, root)
        self.organizations = _organizations(self.stores)
        for root in (ROOT, BETA):
            self.organizations.open(root)
        self.organizations.refresh()

    def write(self, root: ResourceId) -> None:
        """Write an entry as this process does."""
        self.organizations.open(root).control.execute(AssignRole(MEMBER, "viewer", RAW), Caller(OWNER))

    def write_by_draft(self, root: ResourceId) -> None:
        """Write an entry in this process without the open organization."""
        _write(_organizations(self.stores), root)

    def write_elsewhere(self, root: ResourceId) -> None:
        """Write an entry as another process does."""
        _write(_organizations(self.elsewhere), root)

    @property
    def is_behind(self) -> bool:
        """Whether an open log has an entry that is not known."""
        opened = self.organizations.loaded_organizations
        return any(each.control.head != self.elsewhere.log(each.id).head() for each in opened)

    def close(self) -> None:
        """Close both connections."""
        self.stores.close()
        self.elsewhere.close()


def _organizations(stores: Stores) -> Organizations:
    return Organizations(stores, FixedModels(MODELS), lambda: NOW)


def _write(organizations: Organizations, root: ResourceId) -> None:
    organizations.draft(root).control.execute(AssignRole(MEMBER, "viewer", RAW), Caller(OWNER))


def _append(stores: Stores, root: ResourceId) -> None:
    log = stores.log(root)
    log.append(log.head(), LogWrite(0.0, None, "begin", (*PEOPLE, *THINGS)))


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[_Deployment]:
    with closing(_Deployment(tmp_path)) as opened:
        yield opened


STEPS: Mapping[str, Callable[[_Deployment], None]] = {
    "write": lambda each: each.write(ROOT),
    "write to beta": lambda each: each.write(BETA),
    "write by draft": lambda each: each.write_by_draft(BETA),
    "write elsewhere": lambda each: each.write_elsewhere(ROOT),
    "write elsewhere to beta": lambda each: each.write_elsewhere(BETA),
    "write elsewhere to the closed log": lambda each: each.write_elsewhere(CLOSED),
    "open the closed log": lambda each: each.organizations.open(CLOSED) and None,
    "refresh": lambda each: each.organizations.refresh(),
}


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.booleans()), min_size=1, max_size=12))
def test_logs_are_stale_exactly_if_one_has_an_unknown_entry(steps: list[tuple[str, bool]]) -> None:
    with TemporaryDirectory() as folder, closing(_Deployment(Path(folder))) as deployment:
        for step, is_checked in steps:
            STEPS[step](deployment)
            if is_checked:
                assert deployment.organizations.is_stale() == deployment.is_behind


def test_own_entries_cause_no_read_of_the_logs(deployment: _Deployment) -> None:
    assert not deployment.organizations.is_stale()
    before = deployment.organizations.head_reads

    for root in (ROOT, BETA, ROOT):
        deployment.write(root)
        assert not deployment.organizations.is_stale()

    assert deployment.organizations.head_reads == before


def test_an_entry_of_another_process_between_own_entries_is_found(deployment: _Deployment) -> None:
    assert not deployment.organizations.is_stale()

    deployment.write(ROOT)
    deployment.write_elsewhere(BETA)
    deployment.write(ROOT)

    assert deployment.organizations.is_stale()
    deployment.organizations.refresh()
    assert not deployment.organizations.is_stale()


def test_an_entry_that_replaces_a_lost_one_is_found(deployment: _Deployment) -> None:
    deployment.write(BETA)
    assert not deployment.organizations.is_stale()

    with deployment.elsewhere._database.transaction() as connection:
        connection.exec_driver_sql("DELETE FROM log WHERE log_id = 'beta' AND revision = 2")
    deployment.write_elsewhere(ROOT)

    assert deployment.organizations.is_stale()
