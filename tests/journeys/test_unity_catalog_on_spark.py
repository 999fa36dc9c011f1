"""The example model of Unity Catalog, installed by an operator and enforced on a real Spark.

The API, AuthZEN and the Iceberg REST catalog must give the answers that Spark gives.
"""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from headgate.app.server import Server
from headgate.spark.sql.client import connect
from tests.journeys.sql_person import Person, variables
from tests.repo.sessions import ran

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

MODEL = Path(__file__).resolve().parents[2] / "examples" / "models" / "unity_catalog" / "unity_catalog.yaml"
Privilege = tuple[str, str]
"""A privilege of Unity Catalog, and the resource on which it is granted."""
USE_CATALOG, USE_SCHEMA, SELECT, MODIFY = (
    ("USE_CATALOG", "lake"),
    ("USE_SCHEMA", "lake.bazaar"),
    ("SELECT", "lake.bazaar.orders"),
    ("MODIFY", "lake.bazaar.orders"),
)
ORDERS = "SELECT item FROM lake.bazaar.orders WHERE id = 1"
DENIED = "denied"
"""The result of a statement that Spark refuses for a missing privilege."""


class Member(Person):
    """A user of the metastore with a session of Spark Connect."""

    def __init__(self, server: Server, token: str) -> None:
        super().__init__(server, token)
        self.spark = connect(server.gateway_port, token)
        self.url, self.principal = server.url, str(self.http.get("/me").json()["principal"])

    def run(self, statement: str) -> list[tuple[Any, ...]] | str:
        """Return the rows of a statement over Spark Connect, or `DENIED`; any other error is raised."""
        try:
            return [tuple(row) for row in self.spark.sql(statement).collect()]
        except PySparkException as error:
            if error.getSqlState() != "42501":
                raise
            return DENIED

    def tables(self, schema: str) -> set[str]:
        """Return the names of the tables that Spark shows in a schema."""
        rows = self.run(f"SHOW TABLES IN {schema}")
        assert isinstance(rows, list), rows
        return {row[1] for row in rows}

    def grant(self, privilege: Privilege, subject: "Member") -> bool:
        """Grant a privilege to a user over the API; return whether it is allowed."""
        role, place = privilege
        body = {"subject": subject.principal, "role": role, "resource": place}
        answer = self.http.post("/assignments", json=body)
        assert answer.status_code in (201, 403, 404), answer.text
        return answer.status_code == 201

    def revoke(self, privilege: Privilege, subject: "Member") -> bool:
        """Revoke a privilege of a user over the API; return whether it is allowed."""
        role, place = privilege
        named = {"subject": subject.principal, "role": role, "resource": place}
        answer = self.http.delete("/assignments", params=named)
        assert answer.status_code in (200, 403, 404), answer.text
        return answer.status_code == 200

    def is_allowed(self, action: str, name: str) -> bool:
        """Whether the user may do an action on a resource: the answer of the API, which must be that of AuthZEN."""
        type, _, _ = action.partition(".")
        question = {
            "subject": {"type": "user", "id": self.principal},
            "action": {"name": action},
            "resource": {"type": type, "id": name},
        }
        checked = self.http.post("/questions", json={"action": action, "resource": name})
        decided = self.http.post(f"{self.url}/access/v1/evaluation", json=question)
        assert checked.status_code in (200, 404), checked.text
        allowed = bool(checked.json().get("allowed", False))
        assert (decided.status_code, decided.json()["decision"]) == (200, allowed), decided.text
        return allowed

    def may_read(self, schema: str, table: str) -> bool:
        """Whether the user may read a table; the API, AuthZEN, the catalog, SQL over HTTP and Spark Connect must agree."""
        name = f"{schema}.{table}"
        allowed = self.is_allowed("table.select", name)
        loaded = self.http.get(f"{self.url}/iceberg/v1/namespaces/{schema.removeprefix('lake.')}/tables/{table}")
        over_http = self.sql(f"SELECT count(*) FROM {name}")
        assert loaded.status_code in ((200,) if allowed else (403, 404)), loaded.text
        assert over_http.status_code == (200 if allowed else 403), over_http.text
        assert (self.run(f"SELECT count(*) FROM {name}") != DENIED) == allowed
        return allowed


class Metastore:
    """The organization under the example model of Unity Catalog. `owner` owns the metastore and the schema `bazaar`."""

    def __init__(self, server: Server, owner: Member, folder: Path) -> None:
        self.server, self.owner, self.folder = server, owner, folder
        self.users: list[Member] = []
        self._names = count(1)

    def user(self, *privileges: Privilege) -> Member:
        """Return a new user with these privileges."""
        name = f"user{next(self._names)}"
        assert self.owner.http.post("/users", json={"name": name}).status_code == 201
        user = Member(self.server, self.owner.http.post("/tokens", json={"principal": name}).json()["token"])
        self.users.append(user)
        for each in privileges:
            assert self.owner.grant(each, user)
        return user

    def operate(self, command: str) -> None:
        """Run a command of the operator."""
        done = ran(command, self.folder, variables(self.server))
        assert done.returncode == 0, done.stdout

    def end_sessions(self) -> None:
        """End the Spark sessions of the users."""
        while self.users:
            self.users.pop().spark.stop()


@pytest.fixture(scope="module")
def shared_metastore(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Metastore]:
    """Install the example model as an operator does, and let it decide in the organization until the module ends.

    `lake.former.t` was created under the former model and has no owner.
    """
    owner = Member(server, server.settings.owner_token.read_text(encoding="utf-8").strip())
    made = Metastore(server, owner, tmp_path_factory.mktemp("operator"))
    assert owner.http.post("/databases", json={"name": "former"}).is_success
    assert owner.run("CREATE TABLE lake.former.t AS SELECT 1 AS n") == []
    made.operate(f"headgate model install {MODEL}")
    made.operate("headgate organization set-model main unity_catalog --yes")
    try:
        for privilege in (USE_CATALOG, ("CREATE_SCHEMA", "lake")):
            assert owner.grant(privilege, owner)
        assert owner.http.post("/databases", json={"name": "bazaar"}).is_success
        assert owner.run("CREATE TABLE lake.bazaar.orders AS SELECT 1 AS id, 'book' AS item") == []
        assert owner.run("CREATE TABLE lake.bazaar.refunds AS SELECT 1 AS id") == []
        yield made
    finally:
        made.operate("headgate organization set-model main nekt --yes")
        made.operate("headgate model remove unity_catalog")
        owner.spark.stop()


@pytest.fixture
def metastore(shared_metastore: Metastore) -> Iterator[Metastore]:
    """Return the metastore, and end the sessions of the test's users afterwards."""
    yield shared_metastore
    shared_metastore.end_sessions()


class TestTheModelOfUnityCatalog:
    @pytest.mark.parametrize("missing", [USE_CATALOG, USE_SCHEMA, SELECT], ids=lambda privilege: privilege[0])
    def test_a_select_needs_the_use_of_the_catalog_and_the_schema_and_the_select_privilege(
        self, metastore: Metastore, missing: Privilege
    ) -> None:
        reader = metastore.user(*({USE_CATALOG, USE_SCHEMA, SELECT} - {missing}))
        assert reader.run(ORDERS) == DENIED
        assert not reader.may_read("lake.bazaar", "orders")

        assert metastore.owner.grant(missing, reader)

        assert reader.run(ORDERS) == [("book",)]
        assert reader.may_read("lake.bazaar", "orders")

        assert metastore.owner.revoke(missing, reader)

        assert reader.run(ORDERS) == DENIED
        assert not reader.may_read("lake.bazaar", "orders")

    def test_a_privilege_on_a_schema_reaches_its_present_and_later_tables(self, metastore: Metastore) -> None:
        reader = metastore.user(USE_CATALOG, USE_SCHEMA, ("SELECT", "lake.bazaar"))
        assert reader.may_read("lake.bazaar", "refunds")

        assert metastore.owner.run("CREATE TABLE lake.bazaar.later AS SELECT 1 AS id") == []

        assert reader.may_read("lake.bazaar", "later")
        assert metastore.owner.run("DROP TABLE lake.bazaar.later") == []

    def test_a_privilege_of_a_group_is_one_of_its_members(self, metastore: Metastore) -> None:
        reader, http = metastore.user(USE_CATALOG, USE_SCHEMA), metastore.owner.http
        assert http.post("/groups", json={"name": "bookkeepers"}).is_success
        role, place = SELECT
        assert http.post("/assignments", json={"subject": "bookkeepers", "role": role, "resource": place}).is_success
        assert reader.run(ORDERS) == DENIED

        assert http.put(f"/groups/bookkeepers/members/{reader.principal}").is_success

        assert reader.run(ORDERS) == [("book",)]

    def test_a_revoke_ends_the_reading_of_a_query_that_was_planned_before(self, metastore: Metastore) -> None:
        reader = metastore.user(USE_CATALOG, USE_SCHEMA, SELECT)
        frame = reader.spark.sql(ORDERS)
        assert frame.count() == 1

        assert metastore.owner.revoke(USE_SCHEMA, reader)

        with pytest.raises(PySparkException) as raised:
            frame.collect()
        assert raised.value.getSqlState() == "42501"

    @pytest.mark.parametrize("missing", [USE_CATALOG, USE_SCHEMA, SELECT, MODIFY], ids=lambda privilege: privilege[0])
    def test_an_insert_needs_modify_besides_what_a_select_needs(self, metastore: Metastore, missing: Privilege) -> None:
        writer = metastore.user(*({USE_CATALOG, USE_SCHEMA, SELECT, MODIFY} - {missing}))
        statements = (
            "INSERT INTO lake.bazaar.orders VALUES (9, 'pen')",
            "UPDATE lake.bazaar.orders SET item = 'ink' WHERE id = 9",
            "DELETE FROM lake.bazaar.orders WHERE id = 9",
        )
        assert [writer.run(each) for each in statements] == [DENIED] * 3
        assert not writer.is_allowed("table.insert", "lake.bazaar.orders")

        assert metastore.owner.grant(missing, writer)
        assert [writer.run(each) for each in statements[:2]] == [[], []]
        assert writer.run("SELECT item FROM lake.bazaar.orders WHERE id = 9") == [("ink",)]
        assert writer.run(statements[2]) == []
        assert writer.is_allowed("table.insert", "lake.bazaar.orders")

        assert metastore.owner.revoke(missing, writer)
        assert writer.run(statements[0]) == DENIED

    def test_a_user_with_modify_changes_the_columns_and_does_not_drop_the_table(self, metastore: Metastore) -> None:
        writer = metastore.user(USE_CATALOG, USE_SCHEMA, ("MODIFY", "lake.bazaar.refunds"))

        assert writer.run("ALTER TABLE lake.bazaar.refunds ADD COLUMN amount INT") == []
        assert writer.run("DROP TABLE lake.bazaar.refunds") == DENIED

    def test_a_user_with_create_table_owns_the_tables_that_it_creates(self, metastore: Metastore) -> None:
        creator, other = metastore.user(USE_CATALOG, USE_SCHEMA), metastore.user(USE_CATALOG, USE_SCHEMA)
        create = "CREATE TABLE lake.bazaar.returns AS SELECT 5 AS id"
        assert creator.run(create) == DENIED
        assert not creator.is_allowed("database.create_table", "lake.bazaar")
        assert metastore.owner.grant(("CREATE_TABLE", "lake.bazaar"), creator)
        assert creator.is_allowed("database.create_table", "lake.bazaar")

        assert creator.run(create) == []

        assert creator.run("SELECT id FROM lake.bazaar.returns") == [(5,)]
        assert creator.run("INSERT INTO lake.bazaar.returns VALUES (6)") == []
        assert creator.run(ORDERS) == DENIED
        assert other.run("SELECT id FROM lake.bazaar.returns") == DENIED
        assert creator.grant(("SELECT", "lake.bazaar.returns"), other)
        assert other.may_read("lake.bazaar", "returns")
        assert other.run("DROP TABLE lake.bazaar.returns") == DENIED
        assert creator.run("DROP TABLE lake.bazaar.returns") == []

    def test_a_view_is_created_with_the_privilege_for_tables_and_shows_what_its_reader_may_read(
        self, metastore: Metastore
    ) -> None:
        creator = metastore.user(USE_CATALOG, USE_SCHEMA, SELECT, ("CREATE_TABLE", "lake.bazaar"))
        reader = metastore.user(USE_CATALOG, USE_SCHEMA)
        assert creator.run("CREATE VIEW lake.bazaar.items AS SELECT item FROM lake.bazaar.orders WHERE id = 1") == []
        assert creator.grant(("SELECT", "lake.bazaar.items"), reader)

        assert reader.run("SELECT * FROM lake.bazaar.items") == DENIED
        assert metastore.owner.grant(SELECT, reader)
        assert reader.run("SELECT * FROM lake.bazaar.items") == [("book",)]
        assert creator.run("DROP VIEW lake.bazaar.items") == []

    def test_a_user_with_browse_sees_metadata_and_no_rows(self, metastore: Metastore) -> None:
        browser = metastore.user()
        assert browser.run("SHOW TABLES IN lake.bazaar") == DENIED
        assert browser.run("DESCRIBE TABLE lake.bazaar.orders") == DENIED

        assert metastore.owner.grant(("BROWSE", "lake"), browser)

        assert {"orders", "refunds"} <= browser.tables("lake.bazaar")
        assert browser.run("DESCRIBE TABLE lake.bazaar.orders") == [("id", "int", None), ("item", "string", None)]
        listed = browser.http.get(f"{browser.url}/iceberg/v1/namespaces/bazaar/tables").json()["identifiers"]
        assert {"orders", "refunds"} <= {each["name"] for each in listed}
        assert browser.is_allowed("table.describe", "lake.bazaar.orders")
        assert not browser.may_read("lake.bazaar", "orders")
        for statement in (
            "SELECT count(*) FROM lake.bazaar.orders",
            "SELECT file_path FROM lake.bazaar.orders.files",
            "EXPLAIN SELECT * FROM lake.bazaar.orders",
            "INSERT INTO lake.bazaar.orders VALUES (2, 'pen')",
            "DROP TABLE lake.bazaar.orders",
            "CREATE TABLE lake.bazaar.copy (id INT)",
        ):
            assert browser.run(statement) == DENIED, statement

    def test_a_user_with_manage_grants_a_privilege_and_reads_no_rows_without_it(self, metastore: Metastore) -> None:
        manager, reader = (metastore.user(USE_CATALOG, USE_SCHEMA) for _ in range(2))
        assert not manager.grant(SELECT, reader)
        assert metastore.owner.grant(("MANAGE", "lake.bazaar.orders"), manager)

        assert not manager.may_read("lake.bazaar", "orders")
        assert manager.grant(SELECT, reader)
        assert reader.run(ORDERS) == [("book",)]
        assert not manager.grant(("SELECT", "lake.bazaar.refunds"), reader)
        assert manager.grant(SELECT, manager)
        assert manager.may_read("lake.bazaar", "orders")

        assert manager.revoke(SELECT, reader)
        assert reader.run(ORDERS) == DENIED

    def test_a_user_with_manage_needs_the_use_of_the_schema_too(self, metastore: Metastore) -> None:
        manager, reader = (metastore.user(USE_CATALOG, USE_SCHEMA) for _ in range(2))
        assert metastore.owner.run("CREATE TABLE lake.bazaar.managed AS SELECT 1 AS id") == []
        assert metastore.owner.grant(("MANAGE", "lake.bazaar.managed"), manager)
        assert metastore.owner.revoke(USE_SCHEMA, manager)

        assert not manager.grant(("SELECT", "lake.bazaar.managed"), reader)
        assert manager.run("DROP TABLE lake.bazaar.managed") == DENIED

        assert metastore.owner.grant(USE_SCHEMA, manager)
        assert manager.run("DROP TABLE lake.bazaar.managed") == []

    def test_the_owner_of_the_metastore_sees_every_table_and_reads_none_without_a_privilege(
        self, metastore: Metastore
    ) -> None:
        assert "t" in metastore.owner.tables("lake.former")
        assert not metastore.owner.may_read("lake.former", "t")

        for privilege in (("USE_SCHEMA", "lake.former"), ("SELECT", "lake.former.t")):
            assert metastore.owner.grant(privilege, metastore.owner)

        assert metastore.owner.may_read("lake.former", "t")
        assert metastore.owner.run("DROP TABLE lake.former.t") == DENIED

    def test_the_owner_of_a_schema_sees_and_drops_a_table_and_reads_none_without_a_privilege(
        self, metastore: Metastore
    ) -> None:
        schema_owner = metastore.user(USE_CATALOG, ("CREATE_SCHEMA", "lake"))
        creator = metastore.user(USE_CATALOG)
        assert schema_owner.run("CREATE NAMESPACE lake.lab") == []
        for privilege in (("USE_SCHEMA", "lake.lab"), ("CREATE_TABLE", "lake.lab")):
            assert schema_owner.grant(privilege, creator)
        assert creator.run("CREATE TABLE lake.lab.t AS SELECT 1 AS id") == []

        assert schema_owner.tables("lake.lab") == {"t"}
        assert not schema_owner.may_read("lake.lab", "t")
        assert schema_owner.run("DROP TABLE lake.lab.t") == []
        assert schema_owner.run("DROP NAMESPACE lake.lab") == []

    def test_show_tables_shows_a_user_the_tables_on_which_it_has_a_privilege(self, metastore: Metastore) -> None:
        user = metastore.user(USE_CATALOG, USE_SCHEMA)
        assert user.tables("lake.bazaar") == set()

        for privilege, shown in (
            (SELECT, {"orders"}),
            (("MODIFY", "lake.bazaar.refunds"), {"orders", "refunds"}),
        ):
            assert metastore.owner.grant(privilege, user)
            assert user.tables("lake.bazaar") == shown
        assert user.run("SHOW NAMESPACES IN lake") == [("bazaar",)]

        assert metastore.owner.revoke(SELECT, user)
        assert user.tables("lake.bazaar") == {"refunds"}
        assert metastore.owner.revoke(USE_SCHEMA, user)
        assert user.run("SHOW TABLES IN lake.bazaar") == DENIED

    def test_a_refusal_names_the_missing_privileges_of_unity_catalog(self, metastore: Metastore) -> None:
        problem = metastore.user(USE_CATALOG, USE_SCHEMA, ("BROWSE", "lake")).sql(ORDERS).json()

        assert problem["sqlstate"] == "42501"
        assert "you do not hold `SELECT` on `lake.bazaar.orders`" in problem["reason"]


RESTATED = """
operations:
  table.rename: [{on: table, verb: alter}, {on: database, verb: "create_{type}"}]
  resource.delete: [{on: resource, verb: [drop, delete]}, {on: resource, verb: [select, describe]}]
"""


class TestAVersionThatRestatesOperations:
    """To rename a table needs to alter it and to create one; to drop one needs to read it as well."""

    @pytest.fixture
    def restate(self, metastore: Metastore) -> Iterator[Callable[[], None]]:
        file = metastore.folder / "restated.yaml"
        file.write_text(MODEL.read_text(encoding="utf-8").replace("version: 2\n", "version: 3\n") + RESTATED)

        def upgrade() -> None:
            metastore.operate(f"headgate model install {file}")
            metastore.operate("headgate model upgrade main --yes")

        yield upgrade
        metastore.operate("headgate model upgrade main --version 2 --yes")

    def test_spark_and_the_catalog_ask_for_what_the_version_in_force_states(
        self, metastore: Metastore, restate: Callable[[], None]
    ) -> None:
        assert metastore.owner.run("CREATE TABLE lake.bazaar.moving AS SELECT 1 AS id") == []
        writer = metastore.user(
            USE_CATALOG, USE_SCHEMA, ("MODIFY", "lake.bazaar.moving"), ("CREATE_TABLE", "lake.bazaar")
        )
        manager = metastore.user(USE_CATALOG, USE_SCHEMA, ("MANAGE", "lake.bazaar.moving"))
        rename = "ALTER TABLE lake.bazaar.moving RENAME TO lake.bazaar.moved"
        tables = f"{manager.url}/iceberg/v1/namespaces/bazaar/tables"
        assert writer.run(rename) == DENIED

        restate()

        assert writer.run(rename) == []
        back = {
            "source": {"namespace": ["bazaar"], "name": "moved"},
            "destination": {"namespace": ["bazaar"], "name": "moving"},
        }
        assert writer.http.post(f"{writer.url}/iceberg/v1/tables/rename", json=back).status_code == 204
        assert writer.run("DROP TABLE lake.bazaar.moving") == DENIED
        assert manager.run("DROP TABLE lake.bazaar.moving") == DENIED
        assert manager.http.delete(f"{tables}/moving").status_code == 403
        assert manager.run("CREATE OR REPLACE TABLE lake.bazaar.moving AS SELECT 2 AS id") == DENIED

        assert metastore.owner.grant(("SELECT", "lake.bazaar.moving"), manager)
        assert manager.run("DROP TABLE lake.bazaar.moving") == []
