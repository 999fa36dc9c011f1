"""A process that runs jobs on one side, each in a session of its own with the stock client, and writes their results.

It reads its order as JSON from standard input: the address contains a token, which must not be on a command line.
"""

import contextlib
import gc
import json
import logging
import os
import sys
import time
import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
os.environ["PYARROW_IGNORE_TIMEZONE"] = "1"
os.environ["COLUMNS"] = "120"
warnings.filterwarnings("ignore")

from pyspark.sql.connect.client.retries import DefaultPolicy  # noqa: E402 (PySpark reads the variables above)
from pyspark.sql.connect.session import SparkSession  # noqa: E402

from tools.compatibility.example_session import run_examples  # noqa: E402
from tools.compatibility.fixture_tables import create_tables, databases_in  # noqa: E402
from tools.compatibility.jobs import Job, job_from_json  # noqa: E402
from tools.compatibility.results import PLAIN, Results, write_results  # noqa: E402
from tools.compatibility.sql_session import run_statements  # noqa: E402

_RETRIES: Final = 4
_LONGEST_WAIT: Final = 2000
"""The longest wait between two attempts of the client, in milliseconds."""
_AWAIT_EVERY: Final = 0.2


@dataclass(frozen=True, slots=True)
class Order:
    """The order of a worker: the side with its address, the jobs, the folders of results and the time limit of a statement."""

    side: str
    url: str
    jobs: list[dict[str, Any]]
    headgate: str
    plain: str
    limit: float
    repeated: bool = False
    tests: str = ""
    sources: str = ""
    """The jars with the contents of the fixture tables; empty if the tables exist."""
    databases: list[str] = field(default_factory=list[str])

    def to_json(self) -> str:
        """Return the order as JSON."""
        return json.dumps(asdict(self))


def main() -> None:
    """Run the order that standard input has."""
    order = Order(**json.loads(sys.stdin.read()))
    # PySpark's client ends a session that the garbage collector finds; in a thread of gRPC that is a deadlock.
    gc.disable()
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "pyspark"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    os.environ["SPARK_REMOTE"] = order.url
    session = _open_session(order.url)
    if order.tests:
        create_tables(session, order.databases, Path(order.tests), Path(order.sources))
    kept = databases_in(session)
    session.stop()
    results = Results(Path(order.headgate), Path(order.plain))
    for number, job in enumerate(map(job_from_json, order.jobs), start=1):
        _run(order, results, job, number, kept)
        gc.collect()


def _run(order: Order, results: Results, job: Job, number: int, kept: frozenset[str]) -> None:
    refused: list[str] = []
    if order.side == PLAIN:
        while (found := results.refused_settings(job)) is None:
            time.sleep(_AWAIT_EVERY)
        refused = found
    file = results.file(order.side, job, refused, repeated=order.repeated)
    if file.is_file():
        return
    began = time.monotonic()

    def connect() -> SparkSession:
        return _open_session(order.url)

    if job.is_sql:
        found = run_statements(connect, job, frozenset(refused), kept, order.limit)
    else:
        found = run_examples(connect, job, kept, order.limit)
    write_results(file, found)
    place = f"{number}/{len(order.jobs)}"
    print(f"{order.side:8} {place:>7} {job.name}: {len(found)} in {time.monotonic() - began:.0f} s", flush=True)


def _open_session(url: str) -> SparkSession:
    session = SparkSession.builder.remote(url).create()
    session.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES, max_backoff=_LONGEST_WAIT)])
    return session


def order_for(side: str, url: str, jobs: list[Job], results: Results, limit: float) -> Order:
    """Return the order to run jobs whose tables exist."""
    return Order(side, url, [job.to_json() for job in jobs], str(results.headgate), str(results.plain), limit)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
