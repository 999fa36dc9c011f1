"""Headgate as a separate process, with the measured organization: `headgate serve`, without Spark.

It prints a line with its port and its tokens when it is ready, and ends when its input ends.
"""

import asyncio
import json
import secrets
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

import uvicorn
from typing_extensions import override

from bench.decision_engines.organization import Sizes, generate
from bench.http_engines.facts import imports
from headgate.app.deployment import Deployment, open_deployment
from headgate.app.garbage_collection import exempt_loaded_objects
from headgate.app.http.application import http_application
from headgate.app.http.middleware import build_front
from headgate.app.settings.settings import Settings
from headgate.conformance.http.runner import NoSpark
from headgate.control.identity.principals import CreateServicePrincipal
from headgate.control.identity.tokens import IssueToken, format_token
from headgate.control.kernel.ids import new_id
from headgate.endpoints.http.connection import build_connection_class
from headgate.endpoints.http.limits import Limits
from headgate.endpoints.http.read_your_writes import FreshnessBarrier
from headgate.facts.ids import PrincipalId, TokenId
from headgate.spark.sessions.registry import SparkRegistry


def main(folder: str, store: str, sizes: str) -> None:
    """Serve an organization of these sizes from an empty data folder or database."""
    home = Path(folder)
    # One client sends more requests than one principal may by default.
    limits = Limits(principal_rate=0)
    settings = Settings(folder=home, cache=home / "cache", jars_folder=None, store_url=store or None, limits=limits)
    deployment = open_deployment(settings)
    try:
        for each in imports(generate(Sizes(**json.loads(sizes))), deployment.home.control.snapshot):
            deployment.home.control.execute(each, None)
        tokens = {"owner": settings.owner_token.read_text().strip(), "enforcement": _enforcement_point(deployment)}
        server = Announcing(config(deployment, SparkRegistry(deployment.external_access_of)), tokens)
        with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
            runner.run(_serve(server))
    finally:
        deployment.close()


def _enforcement_point(deployment: Deployment) -> str:
    """Add a service principal that may ask questions about other principals, and return its token."""
    id, token, secret = PrincipalId(new_id("p")), TokenId(new_id("t")), secrets.token_urlsafe(32)
    deployment.home.control.execute(CreateServicePrincipal(id, "enforcement", role="admin"), None)
    deployment.home.control.execute(IssueToken(token, secret, id), None)
    return format_token(token, secret)


class Announcing(uvicorn.Server):
    """A server that prints its port and secrets when it listens."""

    def __init__(self, config: uvicorn.Config, secrets: Mapping[str, str]) -> None:
        """`secrets` are printed in the same line."""
        super().__init__(config)
        self._secrets = secrets

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and print the line."""
        await super().startup(sockets)
        port = self.servers[0].sockets[0].getsockname()[1]
        print(json.dumps({"port": port, **self._secrets}), flush=True)


async def _serve(server: uvicorn.Server) -> None:
    serving = asyncio.create_task(server.serve())
    await asyncio.to_thread(sys.stdin.read)
    server.should_exit = True
    await serving


def config(deployment: Deployment, sparks: SparkRegistry) -> uvicorn.Config:
    """Return the configuration of the endpoints as in `headgate serve`, on a free port and without Spark."""
    freshness = FreshnessBarrier(deployment.organizations, shares_checks=True)
    app = http_application(deployment, freshness, sparks, NoSpark(), NoSpark(), dict)
    front = build_front(app, deployment, sparks.caller)
    exempt_loaded_objects()
    return uvicorn.Config(
        front.app,
        port=0,
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
        http=build_connection_class(deployment.settings.limits, front.express),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
