"""The gateway's process: `python -m headgate.app.spark.gateway_process`, told on its standard input, until that ends."""

import asyncio
import signal
import sys
import threading

from pydantic import TypeAdapter

from headgate.app.logs import log_to
from headgate.spark.gateway.process.certificates import CertificateError, Certificates
from headgate.spark.gateway.process.config import DRAIN, ProcessConfig, ProcessReady
from headgate.spark.gateway.remote_authority import RemoteAuthority
from headgate.spark.gateway.server import Gateway, GatewaySettings


def main() -> None:
    """Serve until the standard input ends. If it says so, the calls under way have their time; else nobody decides any more."""
    told = TypeAdapter(ProcessConfig).validate_json(sys.stdin.buffer.readline())
    log_to(told.log, told.log_level)
    # uvloop answers a call in less time; what is copied costs the same.
    from uvicorn.loops.auto import auto_loop_factory

    with asyncio.Runner(loop_factory=auto_loop_factory()) as runner:
        runner.run(_serve(told))


async def _serve(told: ProcessConfig) -> None:
    parent = _Parent(told.drain_seconds)
    authority = RemoteAuthority(told.authority, told.key)
    try:
        gateway = Gateway(_settings(told), authority)
        port, inner_port = await gateway.start()
    except (CertificateError, RuntimeError) as error:
        _say(ProcessReady(error=str(error)))
        return
    _say(ProcessReady(port, inner_port))
    await parent.gone.wait()
    await gateway.stop(parent.grace)
    authority.end()


def _settings(told: ProcessConfig) -> GatewaySettings:
    if told.tls_cert is None or told.tls_key is None:
        return GatewaySettings(told.host, told.port, told.inner_port)
    credentials = Certificates(told.tls_cert, told.tls_key).credentials()
    return GatewaySettings(told.host, told.port, told.inner_port, credentials)


class _Parent:
    """The end of the parent, or of what it wants: by the standard input, or by SIGTERM. Of the running event loop."""

    def __init__(self, drain_seconds: float) -> None:
        self.gone = asyncio.Event()
        self.grace = drain_seconds
        """Seconds that calls under way have then."""
        self._loop = asyncio.get_running_loop()
        self._loop.add_signal_handler(signal.SIGTERM, self.gone.set)
        threading.Thread(target=self._wait, name="parent", daemon=True).start()

    def _wait(self) -> None:
        try:
            if sys.stdin.buffer.read() != DRAIN:
                self.grace = 0.0
        finally:
            # Also after an error: a gateway that cannot see its parent end must not outlive it.
            self._loop.call_soon_threadsafe(self.gone.set)


def _say(ready: ProcessReady) -> None:
    sys.stdout.buffer.write(TypeAdapter(ProcessReady).dump_json(ready) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
