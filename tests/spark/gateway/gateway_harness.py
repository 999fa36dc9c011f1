"""A gateway on an event loop of its own, for blocking clients."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import grpc

from headgate.control.connections.commands import JdbcAccess, JdbcAccessError
from headgate.control.kernel.errors import SuspendedError
from headgate.control.models.library import FixedModels
from headgate.control.organizations.organization import Organizations, SeveralOrganizationsError
from headgate.endpoints.http.read_your_writes import FreshnessBarrier
from headgate.endpoints.internal.gateway import gateway_application
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId, TokenId
from headgate.spark.abandoned_sessions import AbandonedSessions
from headgate.spark.authority import DriverAccess, PresentedCredential
from headgate.spark.deciding_authority import DecidingAuthority, ResolvedCredential
from headgate.spark.gateway.remote_authority import RemoteAuthority
from headgate.spark.gateway.server import Gateway, GatewaySettings
from headgate.spark.sessions.privileges import RequiredPrivilege
from headgate.spark.sessions.running_operations import RunningOperations
from headgate.spark.sessions.sessions import SparkSessions
from tests.fakes.store import FakeStores
from tests.threads import event_loop, served

KEY = "only the gateway has it"
UNDECIDED = "undecided"
"""A token whose lookup takes until the test sets `decide`."""


class Tokens:
    """The valid tokens; a token equals the name of its principal.

    A test revokes a token by removing it from `callers`.
    """

    def __init__(self, *names: str) -> None:
        self.callers = {name: Caller(PrincipalId(name), TokenId(f"t-{name}")) for name in names}
        self.decide = threading.Event()

    def at_hand(self, token: str) -> Caller | None:
        """Return the caller of a token that needs no lookup."""
        return None if token == UNDECIDED else self.authenticate(token)

    def authenticate(self, token: str) -> Caller | None:
        """Return the caller of a token.

        The holder of `several` is in two organizations, the holder of `suspended` in a suspended organization.
        """
        if token == UNDECIDED:
            self.decide.wait(30)
        if token == "suspended":  # noqa: S105 (of no user)
            raise SuspendedError
        if token == "several":  # noqa: S105 (of no user)
            raise SeveralOrganizationsError((ResourceId("a"), ResourceId("b")))
        return self.callers.get(token)


class Nowhere:
    """Allows no access outside the lake."""

    def may_access(self, _caller: Caller, _action: str, _path: str) -> bool:
        """Refuse every path."""
        return False

    def may_use(self, _caller: Caller, _connection: str) -> bool:
        """Refuse every connection."""
        return False

    def jdbc_access(self, _caller: Caller, connection: str) -> JdbcAccess:
        """Raise the error for an unknown database."""
        raise JdbcAccessError(connection)


class FakeSpark:
    """An organization's Spark that allows everything except for `denied`: required privilege -> reason."""

    def __init__(self) -> None:
        self.sessions = SparkSessions()
        self.denied: dict[RequiredPrivilege, str] = {}
        self.works = RunningOperations(self.sessions, self)
        self.external_access = Nowhere()

    def forget(self) -> None:
        """End all sessions."""
        self.sessions.close_where(lambda _: True)

    def refusal(self, _caller: Caller, needs: Sequence[RequiredPrivilege]) -> str | None:
        """Return the reason of the first denied privilege, or None if all are allowed."""
        return next((self.denied[need] for need in needs if need in self.denied), None)

    def resource(self, _need: RequiredPrivilege) -> None:
        """Return None: no resource is known."""

    def full_name(self, _resource: ResourceId) -> None:
        """Return None: no resource is known."""


class RunningGateway:
    """A gateway with its port, sessions, running operations and tokens."""

    def __init__(
        self,
        gateway: Gateway,
        authority: RemoteAuthority,
        port: int,
        spark: FakeSpark,
        tokens: Tokens,
        run: Callable[[Any], Any],
    ) -> None:
        self.gateway = gateway
        self.authority = authority
        self.port = port
        self.sessions = spark.sessions
        self.spark = spark
        self.tokens = tokens
        self.run = run

    def report(self) -> None:
        """Report the running operations now instead of at the next interval."""
        self.run(self.gateway.watch.tick())

    def forbid(self) -> None:
        """Make every request of the gateway to the decision service fail from now on."""
        self.authority._wire._head = self.authority._wire._head.replace(KEY, "another")

    def drain(self) -> None:
        """Refuse new calls, and wait for the running calls to finish."""
        self.run(self.gateway.stop(30))

    async def stop(self) -> None:
        """Stop the gateway."""
        await self.gateway.stop(1)
        self.authority.end()


@contextmanager
def answering(spark: FakeSpark, tokens: Tokens, driver: DriverAccess) -> Iterator[str]:
    """Serve the decision service for a gateway with the key until the block ends; yields the address."""

    def known(caller: Caller | None) -> ResolvedCredential | None:
        return ResolvedCredential(caller, spark, driver) if caller else None

    def authenticate(credential: PresentedCredential) -> ResolvedCredential | None:
        return known(tokens.authenticate(credential.token))

    def at_hand(credential: PresentedCredential) -> ResolvedCredential | None:
        return known(tokens.at_hand(credential.token))

    deciding = DecidingAuthority(authenticate, lambda: (spark,), AbandonedSessions())
    freshness = FreshnessBarrier(Organizations(FakeStores(), FixedModels({}), time.time))
    with served(gateway_application(deciding, at_hand, KEY, freshness)) as url:
        yield url


@contextmanager
def running_gateway(
    driver: DriverAccess, *names: str, tls: grpc.ServerCredentials | None = None
) -> Iterator[RunningGateway]:
    """Run a gateway in front of the driver until the block ends.

    The gateway requests decisions over HTTP, as it does in its own process.
    """
    spark, tokens = FakeSpark(), Tokens(*names)
    with answering(spark, tokens, driver) as url, event_loop() as run:

        async def build() -> RunningGateway:
            authority = RemoteAuthority(url, KEY)
            gateway = Gateway(GatewaySettings(port=0, credentials=tls), authority)
            port, _ = await gateway.start()
            return RunningGateway(gateway, authority, port, spark, tokens, run)

        running = run(build())
        try:
            yield running
        finally:
            run(running.stop())
