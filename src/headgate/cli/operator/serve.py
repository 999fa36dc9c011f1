"""The server's own commands: `setup`, `serve`, `worker` and `demo`."""

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
from headgate.cli.deployment_url import DEMO_FOLDER
from headgate.cli.local import Data
from headgate.cli.output import fail, say

if TYPE_CHECKING:
    from headgate.app.server import Server

T = TypeVar("T")

_OTHER_FILES = 2048
"""Files that a server may have open besides its connections: the store, tables, pipes, sockets of Spark."""

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
    app.command("setup", epilog="Example: headgate setup")(setup)
    app.command("serve", epilog="Example: headgate serve")(serve)
    app.command("worker", epilog="Example: headgate worker")(worker)
    app.command("demo", epilog="Example: headgate demo")(demo)


def setup(
    jars: Annotated[
        Path | None, typer.Option(help="a folder with the Iceberg jar, for a machine without a network")
    ] = None,
) -> None:
    """Prepare Spark: Java, the Iceberg jar and the guard.

    The command finds Java, downloads the Iceberg jar, and compiles the guard, which enforces decisions inside Spark.
    """
    from headgate.spark.toolchain.prepare import prepare

    settings = default_settings(os.environ, jars_folder=jars)
    tools = _or_exit(lambda: prepare(settings.cache, settings.jars_folder, say))
    say(f"ready: Java {tools.java_version}, {tools.iceberg_jar.name}, {tools.guard_jar.name}")


def serve(data: Data = None, api_port: ApiPort = None, spark_port: SparkPort = None) -> None:
    """Run the server: HTTP API, Iceberg REST and Spark Connect."""
    from headgate.app.garbage_collection import exempt_loaded_objects
    from headgate.app.logs import log_to
    from headgate.app.server import Server

    settings = default_settings(os.environ, folder=data, api_port=api_port, gateway_port=spark_port)
    log_to(settings.log, settings.log_level)
    _allow_open_files(settings.limits.connections)
    server = _or_exit(lambda: Server(settings, say))
    say(f"the data is in {settings.folder}, the owner's token in {settings.owner_token}")
    exempt_loaded_objects()
    _or_exit(lambda: _run(server))


def worker(data: Data = None) -> None:
    """Run pipelines in a process apart from the server. It shares the server's PostgreSQL store and data folder."""
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
    once: Annotated[
        bool, typer.Option("--once", help="end after the demo, in place of serving until Ctrl-C (HEADGATE_DEMO_ONCE=1)")
    ] = False,
    data: Data = None,
    api_port: ApiPort = None,
    spark_port: SparkPort = None,
) -> None:
    """Run a demo with real data and four people, then serve. It shows what each person may do, and each refusal."""
    from headgate.app.logs import log_to
    from headgate.cli.demo import run_demo

    folder = data or Path(os.environ.get("HEADGATE_DATA", DEMO_FOLDER))
    settings = default_settings(os.environ, folder=folder, api_port=api_port, gateway_port=spark_port)
    # The demo prints a report; a log line for each request would hide it.
    log_to(settings.log, "warning")
    end = once or os.environ.get("HEADGATE_DEMO_ONCE", "") not in ("", "0")
    sys.exit(_or_exit(lambda: run_demo(settings, once=end)))


def _allow_open_files(connections: int) -> None:
    """Raise this process's limit of open files, so that connections do not exhaust it: the limit of a shell is 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < wanted:
        say(
            f"the limit of open files is {allowed:,}, which is too low for {connections:,} connections; "
            f"raise the limit to {wanted:,} (`ulimit -n {wanted}`), or lower HEADGATE_CONNECTIONS"
        )


def _run(server: "Server") -> None:
    # A child process runs another program at once, so gRPC need not prepare for it, and does not warn that it cannot.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    # uvloop serves more requests per second.
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
    """Call `work` and return its result; a known error ends with one sentence and exit code 1, Ctrl-C with 130."""
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
