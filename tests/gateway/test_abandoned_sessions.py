"""A driver ends what runs in the sessions of a gateway that has died."""

import asyncio

import grpc
import grpc.aio
import pytest
from fake_backend import FakeBackend, fake_backend

from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, TokenId
from headgate.spark.abandoned_sessions import abandoned_keys, release_sessions
from headgate.spark.authority import endpoint
from headgate.spark.sessions import Sessions

SESSION = "00112233-4455-6677-8899-aabbccddeeff"


def release(backend: FakeBackend) -> None:
    """Release ann's session in the driver."""
    sessions = Sessions()
    sessions.open(Caller(PrincipalId("ann"), TokenId("t-ann")), SESSION)
    found = endpoint(backend.driver)
    assert found is not None
    asyncio.run(release_sessions([found], abandoned_keys([sessions])))


def test_every_session_is_released_under_the_name_that_the_driver_knows() -> None:
    with fake_backend() as backend:
        release(backend)

        request = backend.last("ReleaseSession")
        assert (request.session_id, request.user_context.user_id) == (SESSION, "ann:token-t-ann")


def test_a_session_that_the_driver_does_not_know_is_released() -> None:
    with fake_backend() as backend:
        backend.fail = "ReleaseSession"

        release(backend)

        assert backend.names() == ["ReleaseSession"]


def test_a_driver_that_cannot_be_asked_is_asked_again() -> None:
    with fake_backend() as backend:
        backend.fail, backend.fail_with = "ReleaseSession", (grpc.StatusCode.UNAVAILABLE, "away")

        with pytest.raises(grpc.aio.AioRpcError):
            release(backend)
