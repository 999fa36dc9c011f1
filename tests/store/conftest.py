"""Every kind of store, for the tests of what all kinds promise."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.control.kernel.stores import Stores
from headgate.store import SqlStore, SqlStores, open_stores
from tests.fakes.store import FakeStores
from tests.store.samples import ROOT

DATABASES = ("folder", "memory", "postgresql")


def _where(kind: str, request: pytest.FixtureRequest) -> str | Path:
    match kind:
        case "folder":
            return request.getfixturevalue("tmp_path")
        case "postgresql":
            return request.getfixturevalue("postgres_url")
        case _:
            return ":memory:"


@pytest.fixture(params=DATABASES)
def where(request: pytest.FixtureRequest) -> str | Path:
    """The place of an empty store, for each kind of database."""
    return _where(request.param, request)


@pytest.fixture(params=("folder", "postgresql"))
def lasting(request: pytest.FixtureRequest) -> str | Path:
    """The place of an empty store, for the databases that outlive their process."""
    return _where(request.param, request)


@pytest.fixture
def sql_stores(where: str | Path) -> Iterator[SqlStores]:
    """An empty store in each kind of database."""
    opened = open_stores(where)
    yield opened
    opened.close()


@pytest.fixture
def sql_log(sql_stores: SqlStores) -> SqlStore:
    """An empty log in each kind of database."""
    return sql_stores.log(ROOT)


@pytest.fixture(params=(*DATABASES, "fake"))
def stores(request: pytest.FixtureRequest) -> Iterator[Stores]:
    """An empty store of each kind, including the fake that other tests use."""
    opened = FakeStores() if request.param == "fake" else open_stores(_where(request.param, request))
    yield opened
    opened.close()
