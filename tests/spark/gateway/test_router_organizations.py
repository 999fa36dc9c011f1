"""One login in two organizations at one gateway.

To calls for one organization, the operations of the other look like missing operations.
"""

import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import grpc
import pytest

from headgate.control.models.library import FixedModels
from headgate.control.organizations.organization import Organizations, SeveralOrganizationsError
from headgate.endpoints.http.read_your_writes import FreshnessBarrier
from headgate.endpoints.internal.gateway import gateway_application
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.spark.abandoned_sessions import AbandonedSessions
from headgate.spark.authority import ORGANIZATION_HEADER, PresentedCredential
from headgate.spark.deciding_authority import DecidingAuthority, ResolvedCredential
from headgate.spark.gateway.remote_authority import RemoteAuthority
from headgate.spark.gateway.rpcs import RPCS, SERVICE
from headgate.spark.gateway.server import Gateway, GatewaySettings
from tests.fakes.store import FakeStores
from tests.spark.gateway.fake_backend import FakeBackend, FakeDriver, fake_backend
from tests.spark.gateway.gateway_harness import KEY, FakeSpark
from tests.spark.gateway.hostile_client import Answer, RawClient, bearer
from tests.threads import event_loop, served

ANN = Caller(PrincipalId("ann"))
"""The caller of the login; its token does not distinguish the organizations."""
HASH = "cache/" + "0" * 64
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ONE_ROW: Any = {"root": {"range": {"end": 1, "step": 1}}}


@dataclass
class Tenant:
    """An organization with its Spark and its driver, and Ann's connection to it."""

    name: str
    backend: FakeBackend
    spark: FakeSpark
    client: RawClient

    def call(self, method: str, session: str, **fields: Any) -> Answer:
        """Send one request as Ann for this organization."""
        message = RPCS[SERVICE + method].request(session_id=session, **fields)
        return self.client.send(method, [message.SerializeToString()])


class Two:
    """Ann's session and operation in organization `b`, and organization `a`."""

    def __init__(self, a: Tenant, b: Tenant) -> None:
        self.a = a
        self.b = b
        self.session, self.operation = str(uuid.uuid4()), str(uuid.uuid4())
        options: Any = [{"reattach_options": {"reattachable": True}}]
        begun = b.call("ExecutePlan", self.session, operation_id=self.operation, plan=ONE_ROW, request_options=options)
        assert begun.code is grpc.StatusCode.OK, begun.text
        b.backend.calls.clear()


@pytest.fixture
def two() -> Iterator[Two]:
    with ExitStack() as stack:
        backends = [stack.enter_context(fake_backend()) for _ in "ab"]
        sparks = {name: FakeSpark() for name in "ab"}
        for name, backend in zip("ab", backends, strict=True):
            backend.driver = FakeDriver(backend.driver.address, name, key=name.encode() * 32)
        drivers = {name: backend.driver for name, backend in zip("ab", backends, strict=True)}

        def known(credential: PresentedCredential) -> ResolvedCredential | None:
            if not credential.organization:
                raise SeveralOrganizationsError((ResourceId("a"), ResourceId("b")))
            found = credential.organization
            return ResolvedCredential(ANN, sparks[found], drivers[found]) if found in sparks else None

        port = stack.enter_context(_gateway(known, sparks))
        clients = [RawClient(f"127.0.0.1:{port}", (*bearer("login"), (ORGANIZATION_HEADER, name))) for name in "ab"]
        for each in clients:
            stack.callback(each.close)
        yield Two(*(Tenant(n, b, sparks[n], c) for n, b, c in zip("ab", backends, clients, strict=True)))


@contextmanager
def _gateway(
    known: Callable[[PresentedCredential], ResolvedCredential | None], sparks: Mapping[str, FakeSpark]
) -> Iterator[int]:
    deciding = DecidingAuthority(known, sparks.values, AbandonedSessions())
    freshness = FreshnessBarrier(Organizations(FakeStores(), FixedModels({}), time.time))
    with served(gateway_application(deciding, known, KEY, freshness)) as url, event_loop() as run:

        async def build() -> tuple[Gateway, RemoteAuthority, int]:
            authority = RemoteAuthority(url, KEY)
            gateway = Gateway(GatewaySettings(port=0), authority)
            port, _ = await gateway.start()
            return gateway, authority, port

        gateway, authority, port = run(build())
        try:
            yield port
        finally:
            run(gateway.stop(1))
            authority.end()


CALLS: dict[str, dict[str, Any]] = {
    "ReattachExecute": {"operation_id": "operation"},
    "ReleaseExecute": {"operation_id": "operation", "release_all": {}},
    "Interrupt": {"interrupt_type": 3, "operation_id": "operation"},
    "ArtifactStatus": {"names": [HASH]},
    "FetchErrorDetails": {"error_id": "error"},
    "CloneSession": {"new_session_id": "clone"},
    "ReleaseSession": {},
    "Config": {"operation": {"get_all": {}}},
    "AnalyzePlan": {"spark_version": {}},
}


def asked(fields: dict[str, Any], operation: str) -> dict[str, Any]:
    made = {"operation": operation, "clone": str(uuid.uuid4()), "error": str(uuid.uuid4())}
    return {key: made.get(value, value) if isinstance(value, str) else value for key, value in fields.items()}


def without_ids(answer: Answer) -> tuple[Any, ...]:
    """Return the code, the text and the messages of an answer, without ids."""
    return answer.code, UUID.sub("?", answer.text), [UUID.sub("?", repr(each)) for each in answer.messages]


@pytest.mark.parametrize("method", CALLS)
def test_a_session_of_another_organization_is_answered_like_a_missing_one(two: Two, method: str) -> None:
    theirs = two.a.call(method, two.session, **asked(CALLS[method], two.operation))
    heard = [name for name, _ in two.a.backend.calls]
    two.a.backend.calls.clear()
    missing = two.a.call(method, str(uuid.uuid4()), **asked(CALLS[method], str(uuid.uuid4())))

    assert without_ids(theirs) == without_ids(missing)
    assert heard == [name for name, _ in two.a.backend.calls]
    assert two.b.backend.calls == []


@pytest.mark.parametrize("method", CALLS)
def test_the_operation_of_another_organization_goes_on(two: Two, method: str) -> None:
    before = len(two.b.spark.sessions)
    two.a.call(method, two.session, **asked(CALLS[method], two.operation))

    assert len(two.b.spark.sessions) == before == 1
    assert two.operation in two.b.backend.registered
    again = two.b.call("ReattachExecute", two.session, operation_id=two.operation)
    assert again.code is grpc.StatusCode.OK
    assert "Config" not in two.b.backend.names()


def test_the_same_session_id_names_another_session_in_each_organization(two: Two) -> None:
    assert two.a.call("AnalyzePlan", two.session, spark_version={}).code is grpc.StatusCode.OK

    assert [len(each.spark.sessions) for each in (two.a, two.b)] == [1, 1]
    assert two.a.call("ReleaseSession", two.session).code is grpc.StatusCode.OK
    assert [len(each.spark.sessions) for each in (two.a, two.b)] == [0, 1]


@pytest.mark.parametrize("method", CALLS)
def test_a_login_of_two_organizations_that_names_none_is_refused(two: Two, method: str) -> None:
    message = RPCS[SERVICE + method].request(session_id=two.session, **asked(CALLS[method], two.operation))

    answer = two.a.client.send(method, [message.SerializeToString()], bearer("login"))

    assert (answer.code, ORGANIZATION_HEADER in answer.text) == (grpc.StatusCode.INVALID_ARGUMENT, True)
    assert two.a.backend.calls == two.b.backend.calls == []
