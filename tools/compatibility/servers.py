"""The two servers of a comparison, each with data of its own: Headgate, and plain Spark Connect from the same jars."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.guard_stack.plain_spark import plain_server
from headgate.app.background import run_in_background
from headgate.app.server import Server
from headgate.app.settings.settings import default_settings
from headgate.spark.toolchain.prepare import Toolchain
from tools.compatibility.jars import SuiteJars


@dataclass(frozen=True, slots=True)
class Side:
    """The address of a server, with the token of its user."""

    name: str
    url: str


def side_of(name: str, port: int, token: str) -> Side:
    """Return the side that serves at a port of this machine."""
    return Side(name, f"sc://localhost:{port}/;token={token}")


@contextmanager
def headgate_side(name: str, say: Callable[[str], None]) -> Iterator[Side]:
    """Serve a new deployment until the block ends; its user is the owner."""
    with TemporaryDirectory(prefix="headgate-compatibility-") as folder:
        settings = replace(default_settings({}), folder=Path(folder).resolve() / "data", api_port=0, gateway_port=0)
        with run_in_background(settings, say) as server:
            yield owner_side(name, server)


def owner_side(name: str, server: Server) -> Side:
    """Return the side of a running server, as its owner."""
    token = server.settings.owner_token.read_text(encoding="utf-8").strip()
    return side_of(name, server.gateway_port, token)


@contextmanager
def plain_side(name: str, tools: Toolchain, jars: SuiteJars) -> Iterator[Side]:
    """Serve Spark Connect without Headgate until the block ends; its catalog stores its tables in SQLite, with views."""
    with TemporaryDirectory(prefix="headgate-compatibility-") as root:
        folder = Path(root).resolve()
        lake = "spark.sql.catalog.lake"
        conf = {
            "spark.sql.warehouse.dir": str(folder / "session-warehouse"),
            "spark.checkpoint.dir": str(folder / "checkpoints"),
            "spark.sql.streaming.checkpointLocation": str(folder / "stream-checkpoints"),
            "spark.sql.scripting.enabled": "true",
            f"{lake}.type": "jdbc",
            f"{lake}.uri": f"jdbc:sqlite:{folder / 'lake.db'}?busy_timeout=10000",
            f"{lake}.jdbc.schema-version": "V1",
            f"{lake}.warehouse": str(folder / "warehouse"),
        }
        with plain_server(tools, folder / "spark", conf, (jars.sqlite,)) as (port, token):
            yield side_of(name, port, token)
