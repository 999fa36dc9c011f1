"""The gateway process, `python -m headgate.app.spark.gateway_process`: configured by its standard input, until that ends."""

import asyncio
import signal
import sys
import threading

from pydantic import TypeAdapter

from headgate.app.logs import log_to
from headgate.spark.gateway.process.certificates import Certificates
from headgate.spark.gateway.process.config import DRAIN, ProcessConfig, ProcessReady
from headgate.spark.gateway.remote_authority import RemoteAuthority
from headgate.spark.gateway.server import Gateway, GatewaySettings
from headgate.spark.tls_files import TlsError


def main() -> None:
    """Serve until the standard input ends.

    If it ends with the word `DRAIN`, active calls may finish within the drain time. If not, they end at once: the deciding
    process does not run any more.
    """
    config = TypeAdapter(ProcessConfig).validate_json(sys.stdin.buffer.readline())
    log_to(config.log, config.log_level)
    # uvloop answers a call in less time; copying results takes the same time.
    from uvicorn.loops.auto import auto_loop_factory

    with asyncio.Runner(loop_factory=auto_loop_factory()) as runner:
        runner.run(_serve(config))


async def _serve(config: ProcessConfig) -> None:
    parent = _Parent(config.drain_seconds)
    authority = RemoteAuthority(config.authority, config.key)
    try:
        gateway = Gateway(_settings(config), authority)
        port, inner_port = await gateway.start()
    except (TlsError, RuntimeError) as error:
        _say(ProcessReady(error=str(error)))
        return
    _say(ProcessReady(port, inner_port))
    await parent.gone.wait()
    await gateway.stop(parent.grace)
    authority.end()


def _settings(config: ProcessConfig) -> GatewaySettings:
    if config.tls_cert is None or config.tls_key is None:
        return GatewaySettings(config.host, config.port, config.inner_port)
    credentials = Certificates(config.tls_cert, config.tls_key).credentials()
    return GatewaySettings(config.host, config.port, config.inner_port, credentials)


class _Parent:
    """Signals in the running event loop that the gateway must stop: at the end of the standard input, or at SIGTERM."""

    def __init__(self, drain_seconds: float) -> None:
        self.gone = asyncio.Event()
        self.grace = drain_seconds
        """Seconds that active calls have to finish."""
        self._loop = asyncio.get_running_loop()
        self._loop.add_signal_handler(signal.SIGTERM, self.gone.set)
        threading.Thread(target=self._wait, name="parent", daemon=True).start()

    def _wait(self) -> None:
        try:
            if sys.stdin.buffer.read() != DRAIN:
                self.grace = 0.0
        finally:
            # Also after an error: a gateway that cannot notice the end of its parent must not outlive it.
            self._loop.call_soon_threadsafe(self.gone.set)


def _say(ready: ProcessReady) -> None:
    sys.stdout.buffer.write(TypeAdapter(ProcessReady).dump_json(ready) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
