"""The deciding process of Headgate, for a driver that another program has started.

It prints a line with its port, the owner's token and the handle of a session of the owner; then it reads the driver's key
from standard input, in hexadecimal. It ends when its input ends.
"""

import asyncio
import sys
from pathlib import Path

from bench.http_engines.headgate_server import Announcing, config
from headgate.app.deployment import Deployment, open_deployment
from headgate.app.settings.settings import Settings
from headgate.facts.caller import Caller
from headgate.spark.sessions.registry import SparkRegistry


class _Key:
    """The driver's key, after it was read."""

    value = b""


def main(folder: str) -> None:
    """Serve from an empty data folder."""
    home = Path(folder)
    deployment = open_deployment(Settings(folder=home, cache=home / "cache", jars_folder=None))
    try:
        asyncio.run(_serve(deployment, deployment.settings.owner_token.read_text(encoding="utf-8").strip()))
    finally:
        deployment.close()


async def _serve(deployment: Deployment, token: str) -> None:
    key = _Key()
    sparks = SparkRegistry(deployment.external_access_of, lambda *_: key.value)
    handle = sparks.of(deployment.home).sessions.open(_owner(deployment, token), "bench")
    server = Announcing(config(deployment, sparks), {"token": token, "handle": handle})
    serving = asyncio.create_task(server.serve())
    key.value = bytes.fromhex((await asyncio.to_thread(sys.stdin.readline)).strip())
    await asyncio.to_thread(sys.stdin.read)
    server.should_exit = True
    await serving


def _owner(deployment: Deployment, token: str) -> Caller:
    found = deployment.identity.authenticate(token)
    caller = deployment.home.caller(found) if found else None
    if caller is None:
        raise LookupError("the owner is not known")
    return caller


if __name__ == "__main__":
    main(*sys.argv[1:])
