"""The gateway's process: `python -m headgate.app.gateway`, told on its standard input, until that ends."""

import asyncio
import signal
import sys
import threading

from pydantic import TypeAdapter

from headgate.app.logs import log_to
from headgate.spark.gateway.certificates import CertificateError, Certificates
from headgate.spark.gateway.child import Ready, Told
from headgate.spark.gateway.remote import RemoteAuthority
from headgate.spark.gateway.server import Gateway, GatewaySettings


def main() -> None:
    """Serve until the standard input ends, and then until the calls under way have, or their time."""
    told = TypeAdapter(Told).validate_json(sys.stdin.buffer.readline())
    log_to(told.log, told.log_level)
    # uvloop answers a call in less time; what is copied costs the same.
    from uvicorn.loops.auto import auto_loop_factory

    with asyncio.Runner(loop_factory=auto_loop_factory()) as runner:
        runner.run(_serve(told))


async def _serve(told: Told) -> None:
    ended = _ended()
    authority = RemoteAuthority(told.authority, told.key)
    try:
        gateway = Gateway(_settings(told), authority)
        port, inner_port = await gateway.start()
    except (CertificateError, RuntimeError) as error:
        _say(Ready(error=str(error)))
        return
    _say(Ready(port, inner_port))
    await ended.wait()
    await gateway.stop(told.drain_seconds)
    authority.end()


def _settings(told: Told) -> GatewaySettings:
    if told.tls_cert is None or told.tls_key is None:
        return GatewaySettings(told.host, told.port, told.inner_port)
    credentials = Certificates(told.tls_cert, told.tls_key).credentials()
    return GatewaySettings(told.host, told.port, told.inner_port, credentials)


def _ended() -> asyncio.Event:
    """Return what is set when the parent closes the standard input or is gone, or on SIGTERM."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, ended.set)

    def wait() -> None:
        sys.stdin.buffer.read()
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=wait, name="parent", daemon=True).start()
    return ended


def _say(ready: Ready) -> None:
    sys.stdout.buffer.write(TypeAdapter(Ready).dump_json(ready) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
