"""Attacks on a whole server that a line of the corpus cannot express.

Orphaned statements, privileges that end between two calls, hidden names, a forged host, and a driver that dies.
"""

import os
import re
import signal
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from pyspark.sql.connect.functions import builtin as functions
from pyspark.sql.connect.session import SparkSession

from headgate.spark.gateway.protos import base
from headgate.spark.sql.client import connect
from headgate.spark.sql.statements import DRIVER_LOST, NOT_CONNECTED
from headgate.spark.toolchain.prepare import Toolchain
from tests.app.server_process import Serving, serving, until
from tests.journeys.test_sql_on_spark import Person
from tests.short_lived_drivers import PROGRAM
from tests.spark.gateway.raw_client import Client

pytestmark = [pytest.mark.spark, pytest.mark.timeout(120)]

CROSS_JOIN = "SELECT count(*) AS n FROM range(1000000) a CROSS JOIN range(1000000) b WHERE a.id + b.id = -1"
"""Occupies every slot of Spark for hours."""
WITHIN = 10.0
"""Seconds within which a count is answered."""
LEAVES_ROOM_WITHIN = 30.0
"""Seconds within which a count is answered beside a statement that occupies every slot.

On a busy machine that statement may keep the slots for 15 seconds.
"""
UNFAIR = "the statement held the processors of this Spark"
EVIL = "evil.example"
ID = re.compile(r"\b[a-z]{1,2}_[0-9a-f]{32}\b")
CREATE_ONLY = ["database.create_table", "database.create_view"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("attacks") / "data"


@pytest.fixture(scope="module")
def server(toolchain: Toolchain, folder: Path) -> Iterator[Serving]:
    assert toolchain.guard_jar.exists()
    with serving(folder, program=PROGRAM) as running:
        running.until_ready()
        yield running


@pytest.fixture(scope="module")
def owner(server: Serving, folder: Path) -> Person:
    person = Person(server, (folder / "owner.token").read_text(encoding="utf-8").strip())
    for name in ("raw", "open", "secret"):
        assert person.http.post("/databases", json={"name": name}).is_success
    for name in ("raw.t", "open.t", "secret.s"):
        person.rows(f"CREATE TABLE lake.{name} AS SELECT id AS n FROM range(0, 20000, 1, 20)")
    for name in ("ed", "vic", "sam"):
        assert person.http.post("/users", json={"name": name}).is_success
    grant(person, "ed", "editor", "lake.open")
    for database in ("raw", "open"):
        grant(person, "vic", "viewer", f"lake.{database}")
    return person


@pytest.fixture(scope="module")
def ed(server: Serving, owner: Person) -> Person:
    """A user who may edit `lake.open` and can discover no other database."""
    return new_person(server, owner, "ed")


@pytest.fixture(scope="module")
def vic(server: Serving, owner: Person) -> Person:
    """A user who reads `lake.raw` and `lake.open`."""
    return new_person(server, owner, "vic")


@pytest.fixture(scope="module")
def sam(server: Serving, owner: Person) -> Person:
    """A user without any role on the lake."""
    return new_person(server, owner, "sam")


def grant(owner: Person, subject: str, role: str, resource: str) -> None:
    """Assign a role to a user."""
    assignment = {"subject": subject, "role": role, "resource": resource}
    assert owner.http.post("/assignments", json=assignment).is_success


def new_person(server: Serving, owner: Person, name: str) -> Person:
    """Return a user with a new token."""
    return Person(server, owner.http.post("/tokens", json={"principal": name}).json()["token"])


def spark_port(server: Serving) -> int:
    """Return the port of the Spark Connect gateway."""
    return int(server.health()["spark_port"])


def token_id(person: Person) -> str:
    """Return the id of a person's token."""
    return person.token.split(".")[1]


def count(server: Serving, person: Person, table: str | None = None) -> float:
    """Return the seconds in which Spark Connect answers a count of a table, or of a range, for a person."""
    spark = connect(spark_port(server), person.token)
    try:
        began = time.monotonic()
        assert (spark.table(table) if table else spark.range(10)).count()
        return time.monotonic() - began
    finally:
        spark.stop()


def cross_join(spark: SparkSession) -> Any:
    """Return `CROSS_JOIN` as a DataFrame, without any SQL text."""
    numbers, others = spark.range(1_000_000), spark.range(1_000_000).toDF("other")
    pairs = numbers.crossJoin(others)
    return pairs.where(functions.col("id") + functions.col("other") == functions.lit(-1)).groupBy().count()


class Statement:
    """A statement of a client that speaks only the protocol, without PySpark."""

    def __init__(self, server: Serving, person: Person, plan: Any, *, reattachable: bool) -> None:
        self.client = Client(spark_port(server), person.token)
        self.id = str(uuid.uuid4())
        options = [{"reattach_options": {"reattachable": reattachable}}]
        self.answers = self.client.begin("ExecutePlan", operation_id=self.id, plan=plan, request_options=options)

    def messages(self, answers: Any = None) -> Iterator[Any]:
        """Yield the responses of the driver."""
        return (base.ExecutePlanResponse.FromString(each) for each in answers or self.answers)

    def leave_when_it_joins(self) -> None:
        """Wait until Spark has collected one side of the join and runs the join; then cancel the call."""
        progress = (each.execution_progress for each in self.messages())
        next(each for each in progress if each.num_inflight_tasks and any(stage.done for stage in each.stages))
        self.answers.cancel()

    def reattach(self) -> list[Any]:
        """Reattach to the operation and return its results."""
        return list(self.messages(self.client.begin("ReattachExecute", operation_id=self.id)))


def dataframe_plan(server: Serving, person: Person) -> Any:
    """Return the plan of `cross_join`, as the stock client builds it."""
    spark = connect(spark_port(server), person.token)
    try:
        return cross_join(spark)._plan.to_proto(spark.client)
    finally:
        spark.stop()


def select_plan(text: str) -> Any:
    """Return the plan of a SELECT."""
    plan = base.Plan()
    plan.root.sql.query = text
    return plan


class TestAnOrphan:
    def test_an_abandoned_statement_over_http_leaves_capacity_for_another_user(
        self, server: Serving, owner: Person, sam: Person
    ) -> None:
        path = f"/sql/{sam.sql(CROSS_JOIN, wait_seconds=0).json()['id']}"

        # Only this message shows that the statement had occupied every slot. The client reads it after each count,
        # never during one.
        while UNFAIR not in sam.http.get(path).text:
            assert count(server, owner, "lake.raw.t") < LEAVES_ROOM_WITHIN

    def test_a_dataframe_statement_ends_when_its_client_leaves(self, server: Serving, sam: Person) -> None:
        statement = Statement(server, sam, dataframe_plan(server, sam), reattachable=False)

        statement.leave_when_it_joins()

        # The count runs as the same user, because slots of one principal are freed only for another principal.
        assert count(server, sam) < WITHIN

    @pytest.mark.parametrize("reattachable", [False, True])
    def test_a_dataframe_statement_ends_with_its_token(
        self, server: Serving, owner: Person, sam: Person, *, reattachable: bool
    ) -> None:
        person = new_person(server, owner, "sam")
        statement = Statement(server, person, dataframe_plan(server, person), reattachable=reattachable)
        statement.leave_when_it_joins()

        assert owner.http.delete(f"/tokens/{token_id(person)}").is_success

        assert count(server, sam) < WITHIN

    @pytest.mark.soak
    def test_an_endless_run_of_a_pipeline_leaves_capacity_for_another_user(
        self, server: Serving, owner: Person, ed: Person
    ) -> None:
        sql = CROSS_JOIN.replace("range(1000000) a", "lake.open.t x CROSS JOIN range(1000000) a")
        query = {"kind": "query", "name": "endless", "into": "lake.open.out", "inputs": ["lake.open.t"], "sql": sql}
        assert ed.http.put("/pipelines/endless", json=query).is_success
        run = f"/runs/{ed.http.post('/pipelines/endless/runs').json()['run']}"

        while UNFAIR not in ed.http.get(run).text:
            assert count(server, owner, "lake.raw.t") < LEAVES_ROOM_WITHIN

        ed.http.post(f"{run}/cancel")


@pytest.mark.parametrize("state", ["half read", "finished"])
def test_results_are_refused_at_the_first_reattach_after_a_role_is_revoked(
    server: Serving, owner: Person, vic: Person, state: str
) -> None:
    plan = select_plan("SELECT n, repeat('x', 100) AS x FROM lake.raw.t")
    statement = Statement(server, vic, plan, reattachable=True)
    next(each for each in statement.messages() if each.HasField("arrow_batch"))
    if state == "finished":
        assert any(each.HasField("result_complete") for each in statement.messages())
    statement.answers.cancel()

    role = {"subject": "vic", "role": "viewer", "resource": "lake.raw"}
    assert owner.http.delete("/assignments", params=role).is_success
    try:
        with pytest.raises(grpc.RpcError) as raised:
            statement.reattach()
    finally:
        grant(owner, **role)

    assert raised.value.code() is grpc.StatusCode.PERMISSION_DENIED
    assert "there is no `lake.raw.t` that you may see" in str(raised.value.details())


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_narrowed_token_learns_nothing_from_permission_requests(
    server: Serving, vic: Person, *, dry_run: bool
) -> None:
    narrowed = Person(server, vic.http.post("/tokens", json={"only": ["lake.raw.t"]}).json()["token"])

    def answer(name: str) -> tuple[int, str]:
        request = {"action": "table.select", "resource": name, "purpose": "to know"}
        found = narrowed.http.post("/requests", json=request, params={"dry_run": dry_run})
        return found.status_code, ID.sub("ID", found.text.replace(name, "NAME"))

    assert answer("lake.open.t") == answer("lake.open.nosuch") == answer("lake.secret.s")


class TestATakenName:
    def test_a_dry_run_of_a_pipeline_does_not_reveal_a_hidden_one_of_its_name(self, owner: Person, ed: Person) -> None:
        hidden = {"kind": "saved_query", "inputs": ["lake.secret.s"], "sql": "SELECT n FROM lake.secret.s"}
        assert owner.http.put("/pipelines/hiddenpipe", json={**hidden, "name": "hiddenpipe"}).is_success
        assert ed.http.get("/pipelines/hiddenpipe").status_code == 404

        def answer(name: str) -> tuple[int, str]:
            query = {"kind": "saved_query", "name": name, "inputs": ["lake.open.t"], "sql": "SELECT n FROM lake.open.t"}
            found = ed.http.put(f"/pipelines/{name}", json=query, params={"dry_run": True})
            return found.status_code, ID.sub("ID", found.text.replace(name, "NAME"))

        assert answer("hiddenpipe") == answer("freepipe")
        assert answer("freepipe")[0] == 200

    @pytest.mark.parametrize(
        "text",
        [
            "CREATE TABLE {} (n INT)",
            "CREATE TABLE {} AS SELECT 1 AS n",
            "CREATE TABLE IF NOT EXISTS {} (n INT)",
            "CREATE VIEW {} AS SELECT 1 AS n",
            "CREATE VIEW IF NOT EXISTS {} AS SELECT 1 AS n",
        ],
    )
    def test_a_create_through_spark_that_collides_with_a_hidden_name_is_audited(
        self, server: Serving, owner: Person, text: str
    ) -> None:
        creator = Person(server, owner.http.post("/tokens", json={"actions": CREATE_ONLY}).json()["token"])
        before = collisions(owner)

        creator.sql(text.format("lake.raw.t"))

        until(lambda: collisions(owner) == before + 1, lambda: "the collision is not in the audit")


def collisions(owner: Person) -> int:
    """Return the number of audit records about creates that collided with a hidden name."""
    items = owner.http.get("/audit/decisions").json()["items"]
    return sum(each["code"] == "taken" for each in items)


@pytest.mark.parametrize(
    ("method", "path", "field"),
    [
        ("GET", "/.well-known/oauth-authorization-server", "issuer"),
        ("POST", "/oauth2/device_authorization", "verification_uri"),
    ],
)
def test_a_forged_host_appears_in_no_address_that_the_server_returns(
    server: Serving, method: str, path: str, field: str
) -> None:
    def answer(headers: dict[str, str]) -> httpx.Response:
        url = f"{server.url}{path}"
        return httpx.request(method, url, data={"client_id": "d"}, headers=headers, timeout=60, trust_env=False)

    assert answer({}).json()[field].startswith(server.url)
    for forged in ({"host": EVIL}, {"x-forwarded-host": EVIL}, {"forwarded": f"host={EVIL}"}):
        assert EVIL not in answer(forged).text


@pytest.mark.soak
def test_a_first_statement_after_a_driver_death_is_answered_or_fails_with_a_sqlstate(
    server: Serving, owner: Person, ed: Person, vic: Person, sam: Person
) -> None:
    """The last test of the module: it kills the driver of the server."""
    for person in (owner, ed, vic, sam):
        # Twice: a session that has been used before caches more of the driver's responses.
        assert [person.rows("SELECT 1") for _ in range(2)] == [[[1]]] * 2

    os.kill(server.jvm(), signal.SIGKILL)

    require_rows_or_sqlstate(sam)
    server.until_printed("the Spark driver serves again")
    server.until_ready()
    for person in (owner, ed, vic):
        require_rows_or_sqlstate(person)
    assert sam.rows("SELECT 1") == [[1]]


def require_rows_or_sqlstate(person: Person) -> None:
    """Fail unless a statement is answered, or its error has a SQLSTATE for a driver that ended."""
    answer = person.sql("SELECT 1")
    assert answer.is_success or answer.json()["sqlstate"] in (NOT_CONNECTED, DRIVER_LOST), answer.text
