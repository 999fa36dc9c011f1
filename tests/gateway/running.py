"""A gateway on an event loop of its own, for clients that block."""

from collections.abc import Iterator
from contextlib import contextmanager

from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, TokenId
from headgate.spark.gateway.backend import Driver
from headgate.spark.gateway.server import Gateway, GatewaySettings
from headgate.spark.sessions import Sessions
from tests.threads import event_loop


class Tokens:
    """The tokens that are valid: each is the name of its principal. Revoking one takes it away."""

    def __init__(self, *names: str) -> None:
        self.callers = {name: Caller(PrincipalId(name), TokenId(f"t-{name}")) for name in names}

    def authenticate(self, token: str) -> Caller | None:
        """Return the caller of a token."""
        return self.callers.get(token)


def read_nothing(_caller: Caller, _path: str) -> bool:
    """Refuse every path."""
    return False


class RunningGateway:
    """A gateway with its port, sessions and tokens."""

    def __init__(self, gateway: Gateway, port: int, sessions: Sessions, tokens: Tokens) -> None:
        self.gateway = gateway
        self.port = port
        self.sessions = sessions
        self.tokens = tokens


@contextmanager
def running_gateway(driver: Driver, *names: str) -> Iterator[RunningGateway]:
    """Serve the driver until the block ends."""

    async def build() -> RunningGateway:
        sessions, tokens = Sessions(), Tokens(*names)
        gateway = Gateway(GatewaySettings(port=0), tokens.authenticate, read_nothing, sessions, driver)
        return RunningGateway(gateway, await gateway.start(), sessions, tokens)

    with event_loop() as run:
        running = run(build())
        try:
            yield running
        finally:
            run(running.gateway.stop(1))
