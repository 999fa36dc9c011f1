"""Every thread and every asyncio task of the program is supervised, or on a reviewed list with its reason."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path("src/headgate")
STARTS = {"create_task", "ensure_future", "Thread", "ThreadPoolExecutor", "run_in_executor"}
AWAITED = "it is awaited by the function that starts it, so that its error is raised there"
OF_REQUEST = "it ends with one request, whose answer is its error"

REVIEWED = {
    "app/background.py run_in_background Thread": "a server inside another program: the caller waits for it and raises its error",
    "app/spark/drivers.py Drivers._run ensure_future": "one start of a driver: every failure is logged, and the next call tries again",
    "app/spark/gateway_process.py _Parent.__init__ Thread": "it ends the gateway when it ends, whatever ended it",
    "app/http/server.py InternalServer.begin create_task": "a check shows its end in /readyz",
    "app/server.py Server.run create_task": AWAITED,
    "app/server.py Server._start_spark create_task": AWAITED,
    "app/http/in_process.py serve_in_process Thread": "a server inside another program, for tests and tools",
    "app/spark/service.py SparkService.begin create_task": AWAITED,
    "control/kernel/supervision.py BackgroundThread.__init__ Thread": "the supervisor",
    "control/kernel/supervision.py BackgroundTask.__init__ create_task": "the supervisor",
    "control/kernel/supervision.py BackgroundTask._supervise ensure_future": "the supervisor",
    "endpoints/common/write_queues.py WriteQueues.write create_task": "the requests that wait get its error",
    "endpoints/api/sql/sql.py _wait_until_ended create_task": OF_REQUEST,
    "endpoints/api/sql/sql.py _stream_rows create_task": OF_REQUEST,
    "endpoints/api/sql/sql.py _stream_rows run_in_executor": AWAITED,
    "endpoints/api/sql/sql.py _stream_rows.rows run_in_executor": AWAITED,
    "endpoints/http/read_your_writes.py FreshnessBarrier.wait create_task": OF_REQUEST,
    "pipelines/execution/attempt.py Attempt.stop Thread": "it goes on after every exception until the attempt has ended",
    "pipelines/execution/worker.py _RunningAttempt.__init__ Thread": "one attempt: any exception is its result, and its lease ends without it",
    "spark/driver/database_relay.py DatabaseRelay._begin Thread": "one connection of a driver: it ends with that",
    "spark/driver/database_relay.py DatabaseRelay._relay Thread": "one connection of a driver: any error ends both sides of it",
    "spark/driver/driver.py Driver._wait_for ensure_future": AWAITED,
    "spark/driver/liveness.py Liveness._late_parts ensure_future": AWAITED,
    "spark/gateway/admission.py build_inspector ThreadPoolExecutor": OF_REQUEST,
    "spark/gateway/call.py CallLifecycle.write ensure_future": AWAITED,
    "spark/gateway/call_slots.py Calls._begin create_task": OF_REQUEST,
    "spark/gateway/interrupts.py Interrupts.end create_task": "the revocation watch starts it again until it has succeeded",
    "spark/gateway/relay.py ResultStream.__init__ create_task": OF_REQUEST,
    "spark/sql/statement_store.py StatementStore.__init__ ThreadPoolExecutor": "any exception is the result of the statement",
    "untrusted_input/blocking_pool.py BlockingPool._start_once Thread": "an event loop: an error is raised to the thread that asked",
    "spark/sql/execution.py StatementExecution.cancel Thread": "it goes on after every exception until the statement has ended",
}


def starts(node: ast.AST, place: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield each place where a thread or a task is started, with the call that starts it."""
    for child in ast.iter_child_nodes(node):
        named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        within = (*place, child.name) if named else place
        if isinstance(child, ast.Call):
            function = child.func
            name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            if name in STARTS:
                yield f"{'.'.join(place)} {name}"
        yield from starts(child, within)


def found() -> set[str]:
    """Return every such place of the program."""
    files = sorted(SOURCES.rglob("*.py"))
    return {
        f"{file.relative_to(SOURCES)} {start}" for file in files for start in starts(ast.parse(file.read_text("utf-8")))
    }


def test_every_start_of_a_thread_or_task_is_supervised_or_reviewed() -> None:
    assert found() - REVIEWED.keys() == set()


def test_every_reviewed_start_still_exists() -> None:
    assert REVIEWED.keys() - found() == set()
