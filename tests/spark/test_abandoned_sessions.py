"""A driver ends the operations of sessions whose gateway has died, but not of sessions that a client has reopened."""

import asyncio
import threading
from collections.abc import Iterator

import grpc
import grpc.aio
import pytest

from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, TokenId
from headgate.spark.abandoned_sessions import AbandonedSessions
from headgate.spark.authority import PresentedCredential, StaleDriverError
from headgate.spark.deciding_authority import DecidingAuthority, ResolvedCredential, endpoint_of
from tests.spark.gateway.fake_backend import FakeBackend, fake_backend
from tests.spark.gateway.gateway_harness import FakeSpark
from tests.threads import wait_until

SESSION = "00112233-4455-6677-8899-aabbccddeeff"
ANN = Caller(PrincipalId("ann"), TokenId("t-ann"))


class Abandoned:
    """Ann's session after the death of its gateway, its driver, and the authority of the next gateway."""

    def __init__(self, backend: FakeBackend) -> None:
        self.backend = backend
        self.spark = FakeSpark()
        self.sessions = AbandonedSessions()
        known = ResolvedCredential(ANN, self.spark, backend.driver)
        self.authority = DecidingAuthority(lambda _: known, lambda: (self.spark,), self.sessions)
        self.open()
        self.sessions.add(backend.driver.name, self.spark.sessions)
        self.spark.forget()

    def open(self) -> None:
        """Open the session, as a gateway requests it."""
        driver = self.backend.driver
        self.authority.open(PresentedCredential("ann"), SESSION, driver.name, driver.generation)

    def release(self) -> None:
        """Make the driver release the abandoned sessions."""
        found = endpoint_of(self.backend.driver)
        assert found is not None
        asyncio.run(self.sessions.release([found]))


@pytest.fixture
def abandoned() -> Iterator[Abandoned]:
    with fake_backend() as backend:
        yield Abandoned(backend)


def test_every_session_is_released_under_the_name_that_the_driver_knows(abandoned: Abandoned) -> None:
    abandoned.release()
    abandoned.release()

    assert abandoned.backend.names() == ["ReleaseSession"]
    request = abandoned.backend.last("ReleaseSession")
    assert (request.session_id, request.user_context.user_id) == (SESSION, "ann:token-t-ann")


def test_a_session_that_the_driver_does_not_know_counts_as_released(abandoned: Abandoned) -> None:
    abandoned.backend.fail = "ReleaseSession"

    abandoned.release()

    assert abandoned.backend.names() == ["ReleaseSession"]


def test_the_release_is_retried_at_a_driver_that_was_unavailable(abandoned: Abandoned) -> None:
    abandoned.backend.fail, abandoned.backend.fail_with = "ReleaseSession", (grpc.StatusCode.UNAVAILABLE, "away")
    with pytest.raises(grpc.aio.AioRpcError):
        abandoned.release()

    abandoned.backend.fail = ""
    abandoned.release()

    assert abandoned.backend.names() == ["ReleaseSession"] * 2


def test_a_session_that_a_client_has_opened_again_is_not_released(abandoned: Abandoned) -> None:
    abandoned.open()

    abandoned.release()

    assert abandoned.backend.names() == []


def test_a_session_that_was_in_another_driver_is_not_released(abandoned: Abandoned) -> None:
    """A user may have sessions with the same id in two organizations."""
    abandoned.open()
    abandoned.sessions.add("another", abandoned.spark.sessions)

    abandoned.release()

    assert abandoned.backend.names() == []


def test_a_session_cannot_be_opened_again_while_its_driver_releases_it(abandoned: Abandoned) -> None:
    abandoned.backend.held_releases = True
    releasing = threading.Thread(target=abandoned.release)
    releasing.start()
    wait_until(lambda: abandoned.backend.names() == ["ReleaseSession"])

    with pytest.raises(StaleDriverError):
        abandoned.open()
    abandoned.backend.go_on.set()
    releasing.join(10)
    abandoned.open()

    assert len(abandoned.spark.sessions) == 1
