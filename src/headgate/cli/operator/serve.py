"""The server's own commands: set up, serve and demo."""

import asyncio
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from headgate.app.settings.settings import API_PORT, LAST_PORT, SPARK_PORT, default_settings
from headgate.cli.local import Data
from headgate.cli.output import fail, say

if TYPE_CHECKING:
    from headgate.app.server import Server

T = TypeVar("T")

_OTHER_FILES = 2048
"""Files that a server has open beside its connections, or may have: the store, tables, pipes, sockets of Spark."""

ApiPort = Annotated[
    int | None,
    typer.Option(min=0, max=LAST_PORT, help=f"the port of the HTTP endpoints (HEADGATE_API_PORT; {API_PORT})"),
]
SparkPort = Annotated[
    int | None,
    typer.Option(min=0, max=LAST_PORT, help=f"the port of Spark Connect (HEADGATE_SPARK_PORT; {SPARK_PORT})"),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("setup")(setup)
    app.command("serve")(serve)
    app.command("worker")(worker)
    app.command("demo")(demo)


def setup(
    jars: Annotated[
        Path | None, typer.Option(help="a folder with the Iceberg jar, for a machine without network")
    ] = None,
) -> None:
    """Find Java, fetch the Iceberg jar and compile the guard."""
    from headgate.spark.toolchain.prepare import prepare

    settings = default_settings(os.environ, jars_folder=jars)
    tools = _or_exit(lambda: prepare(settings.cache, settings.jars_folder, say))
    say(f"ready: Java {tools.java_version}, {tools.iceberg_jar.name}, {tools.guard_jar.name}")


def serve(data: Data = None, api_port: ApiPort = None, spark_port: SparkPort = None) -> None:
    """Serve the lakehouse: the API, the Iceberg REST catalog and Spark."""
    from headgate.app.logs import log_to
    from headgate.app.server import Server

    settings = default_settings(os.environ, folder=data, api_port=api_port, gateway_port=spark_port)
    log_to(settings.log, settings.log_level)
    _allow_open_files(settings.limits.connections)
    server = _or_exit(lambda: Server(settings, say))
    say(f"data in {settings.folder}, the owner's token in {settings.owner_token}")
    _or_exit(lambda: _run(server))


def worker(data: Data = None) -> None:
    """Run pipelines beside a server that shares its PostgreSQL and its data folder."""
    from headgate.app.logs import log_to
    from headgate.app.worker import StandaloneWorker

    settings = default_settings(os.environ, folder=data)
    log_to(settings.log, settings.log_level)
    apart = _or_exit(lambda: StandaloneWorker(settings, say))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: apart.stop())
    apart.run()
    say("ended")


def demo(
    *,
    once: Annotated[bool, typer.Option("--once", help="end when the demo is over (HEADGATE_DEMO_ONCE=1)")] = False,
    data: Data = None,
    api_port: ApiPort = None,
    spark_port: SparkPort = None,
) -> None:
    """Load real data under access control, and show how Spark refuses a user with a reason."""
    from headgate.app.logs import log_to
    from headgate.cli.demo import run_demo

    folder = data or Path(os.environ.get("HEADGATE_DATA", ".headgate-demo"))
    settings = default_settings(os.environ, folder=folder, api_port=api_port, gateway_port=spark_port)
    # Its story is what it tells; each request would drown that.
    log_to(settings.log, "warning")
    end = once or os.environ.get("HEADGATE_DEMO_ONCE", "") not in ("", "0")
    sys.exit(_or_exit(lambda: run_demo(settings, once=end)))


def _allow_open_files(connections: int) -> None:
    """Raise this process's limit of open files so that connections do not use them up: a shell gives 1,024 of them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < wanted:
        say(
            f"this process may open {allowed:,} files, which is too few for {connections:,} connections; "
            f"allow it {wanted:,} (`ulimit -n`), or lower HEADGATE_CONNECTIONS"
        )


def _run(server: "Server") -> None:
    # uvloop answers more requests.
    from uvicorn.loops.auto import auto_loop_factory

    with asyncio.Runner(loop_factory=auto_loop_factory()) as runner:
        runner.run(_until_signal(server))


async def _until_signal(server: "Server") -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, server.stop)
    loop.add_signal_handler(signal.SIGHUP, server.hang_up)
    await server.run()
    say("ended")


def _or_exit(work: Callable[[], T]) -> T:
    """Do it; what is known to go wrong ends with one sentence and exit code 1."""
    from headgate.app.http.server import ServerError
    from headgate.cli.demo.data import DemoError
    from headgate.control.kernel.ports import StoreError
    from headgate.spark.driver.driver import DriverError
    from headgate.spark.toolchain.errors import ToolchainError

    try:
        return work()
    except KeyboardInterrupt:
        say("ended")
        sys.exit(130)
    except (ServerError, StoreError, DemoError, DriverError, ToolchainError) as error:
        fail(str(error))
        sys.exit(1)
