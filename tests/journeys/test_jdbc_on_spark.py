"""The JDBC driver of Spark Connect through the gateway: rows, metadata and refusals as on plain Spark, and only what a user may see."""

import datetime as dt
import re
from collections.abc import Sequence
from pathlib import Path

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from headgate.app.server import Server
from headgate.spark.toolchain.errors import ToolchainError
from headgate.spark.toolchain.truststore import write_truststore
from tests.conftest import IN_CI
from tests.journeys.java_programs import JavaPrograms, prepare_programs
from tests.journeys.sql_person import Person, add_viewer, owner_of, remote_of
from tests.spark.gateway.fake_backend import fake_backend
from tests.spark.gateway.gateway_harness import running_gateway

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[1] / "examples" / "scripts" / "JdbcProgram.java"
REFUSED = {
    "SELECT * FROM lake.payroll.salaries": "there is no `lake.payroll.salaries` that you may see",
    "SELECT * FROM lake.payroll.nothing": "there is no `lake.payroll.nothing` that you may see",
    "DESCRIBE lake.payroll.salaries": "there is no `lake.payroll.salaries` that you may see",
    "SHOW TABLES IN lake.payroll": "there is no `lake.payroll` that you may see",
    "INSERT INTO lake.air.flights VALUES ('x', 1)": "you do not hold `editor` on `lake.air.flights`; ask owner",
    "DROP TABLE lake.air.flights": "To ask for access: http",
    "CREATE TABLE lake.air.mine (n INT)": "`database.create_table` on `lake.air` is not allowed",
    "SELECT * FROM csv.`/etc/passwd`": "is not allowed",
    "SELECT java_method('java.lang.System', 'getenv', 'PATH')": "the function `java_method` is refused",
    "ADD JAR '/tmp/x.jar'": "Headgate loads no jars",
    "SET spark.sql.catalog.other = x.Y": "cannot be changed by users",
    "USE spark_catalog": "Headgate does not govern it",
    "SHOW TABLES IN spark_catalog.default": "Headgate does not govern it",
}
"""Statements that jo may not run, and a part of the message that says why, or what to do."""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> JavaPrograms:
    try:
        made = prepare_programs(tmp_path_factory.mktemp("jdbc"))
    except ToolchainError as error:
        (pytest.fail if IN_CI else pytest.skip)(f"no Java compiler for the JDBC programs: {error}")
    made.compile(HERE / "JdbcChecks.java", EXAMPLE, made.folder / "Carriers.java")
    return made


@pytest.fixture(scope="module")
def owner(server: Server) -> Person:
    person = owner_of(server)
    for name in ("air", "payroll"):
        assert person.http.post("/databases", json={"name": name}).is_success
    person.rows("CREATE TABLE lake.air.flights (carrier STRING COMMENT 'who flies', year INT)")
    person.rows("INSERT INTO lake.air.flights VALUES ('AA', 2013), ('UA', 2014)")
    person.rows("CREATE VIEW lake.air.carriers AS SELECT DISTINCT carrier FROM lake.air.flights")
    person.rows("CREATE TABLE lake.payroll.salaries AS SELECT 'top' AS word")
    return person


@pytest.fixture(scope="module")
def jo(server: Server, owner: Person) -> Person:
    """A user who reads `air` and can discover nothing else."""
    return add_viewer(server, owner, "jo", "air")


def attempts(programs: JavaPrograms, url: str, *arguments: str) -> dict[str, str]:
    """Return the attempts of the program: name -> result."""
    printed = programs.run("JdbcChecks", f"jdbc:{url}", *arguments)
    return dict(line.split("\t", 1) for line in printed.splitlines() if "\t" in line)


@pytest.fixture(scope="module")
def read(server: Server, programs: JavaPrograms, jo: Person) -> dict[str, str]:
    return attempts(programs, f"{remote_of(server, jo)};x-headgate-organization=organization", "read")


@pytest.fixture(scope="module")
def shown(server: Server, programs: JavaPrograms, jo: Person) -> dict[str, str]:
    return attempts(programs, remote_of(server, jo), "list")


@pytest.fixture(scope="module")
def refused(server: Server, programs: JavaPrograms, jo: Person) -> dict[str, str]:
    return attempts(programs, remote_of(server, jo), "refused", *REFUSED)


class TestRows:
    @pytest.mark.parametrize(
        ("what", "found"),
        [
            ("valid", "true"),
            ("numbers", "1 2 3 4 1.5 2.5 1.50 true"),
            ("texts", "x A null 2026-01-02 2026-01-02T03:04:05"),
            ("nested", 'ArraySeq(1, 2) Map(a -> 1) [1] {"a":1}'),
            ("columns", "carrier STRING java.lang.String, year INT java.lang.Integer"),
            ("rows", "AA 2013, UA 2014"),
            ("view", "AA, UA"),
            ("many rows", str(sum(range(200_000)))),
            ("first row", "2013"),
            ("user", "jo lake"),
            ("current", "lake.air: 2"),
            ("setting", "spark.sql.shuffle.partitions 7"),
            ("timeout", "0"),
        ],
    )
    def test_the_driver_returns_rows_values_and_settings(self, read: dict[str, str], what: str, found: str) -> None:
        assert read[what] == found

    def test_the_driver_has_no_prepared_statements(self, read: dict[str, str]) -> None:
        assert read["prepared"].startswith("java.sql.SQLFeatureNotSupportedException")

    @pytest.mark.parametrize(("what", "state"), [("syntax", "42601"), ("no column", "42703"), ("division", "22012")])
    def test_errors_of_spark_arrive_with_their_sqlstate(self, read: dict[str, str], what: str, state: str) -> None:
        assert re.match(r"org\.apache\.spark\..*Exception: \[.*SQLSTATE: " + state, read[what]), read[what]


def test_statements_write_and_the_driver_counts_no_rows(server: Server, programs: JavaPrograms, owner: Person) -> None:
    written = attempts(programs, remote_of(server, owner), "write")

    assert written.pop("left") == "2 9C, 3 3D"
    assert written.pop("use") == "false"
    assert written == dict.fromkeys(("CREATE", "INSERT", "UPDATE", "MERGE", "DELETE", "DROP"), "0")


class TestMetadata:
    @pytest.mark.parametrize(
        ("what", "found"),
        [
            ("product", "Apache Spark Connect Server 4"),
            ("catalogs", "lake"),
            ("show catalogs", "lake"),
            ("schemas", "air lake"),
            ("schemas like", "air lake"),
            ("show schemas", "air"),
            ("table types", "TABLE, VIEW"),
            ("tables", "air flights TABLE, air carriers VIEW"),
            ("tables like", "flights"),
            ("columns", "carrier STRING who flies, year INT null"),
            ("columns like", "air flights year"),
            ("hidden tables", ""),
            ("hidden columns", ""),
        ],
    )
    def test_the_metadata_shows_what_the_user_may_discover(self, shown: dict[str, str], what: str, found: str) -> None:
        assert shown[what] == found

    def test_the_catalog_of_spark_itself_is_refused(self, shown: dict[str, str]) -> None:
        assert "[HEADGATE_ACCESS_DENIED] the catalog `spark_catalog` is refused" in shown["ungoverned schemas"]

    def test_the_owner_sees_the_hidden_database_too(
        self, server: Server, programs: JavaPrograms, owner: Person
    ) -> None:
        shown = attempts(programs, remote_of(server, owner), "list")

        assert shown["hidden tables"] == "salaries"
        assert shown["hidden columns"] == "word"


class TestRefusals:
    @pytest.mark.parametrize("statement", REFUSED)
    def test_a_refusal_names_its_state_and_what_to_do(self, refused: dict[str, str], statement: str) -> None:
        words = refused[statement]

        assert words.startswith("org.apache.spark.SparkException: [HEADGATE_ACCESS_DENIED] "), words
        assert words.endswith(" SQLSTATE: 42501"), words
        assert REFUSED[statement] in words

    def test_a_hidden_table_and_a_missing_one_are_refused_alike(self, refused: dict[str, str]) -> None:
        hidden, missing = (refused[f"SELECT * FROM lake.payroll.{name}"] for name in ("salaries", "nothing"))

        assert hidden.replace("salaries", "nothing") == missing

    def test_a_wrong_token_is_refused_at_the_first_statement(self, server: Server, programs: JavaPrograms) -> None:
        url = f"sc://localhost:{server.gateway_port}/;token=hgt.t_00000000000000000000000000000000.wrong"

        found = attempts(programs, url, "refused", "SELECT 1")

        assert "the token is not valid" in found["SELECT 1"]


def printed_pattern(page: Sequence[str]) -> str:
    return "\n".join(re.escape(line).replace(r"\.\.\.", ".*") for line in page)


def test_the_program_of_the_page_prints_what_the_page_shows(server: Server, programs: JavaPrograms, jo: Person) -> None:
    shown = (programs.folder / "printed.txt").read_text(encoding="utf-8").splitlines()

    printed = programs.run("Carriers", known={"SPARK_REMOTE": remote_of(server, jo)})

    assert re.fullmatch(printed_pattern(shown), printed.strip()), printed


def test_the_example_program_reports_its_orders(server: Server, programs: JavaPrograms, owner: Person) -> None:
    printed = programs.run("JdbcProgram", known={"SPARK_REMOTE": remote_of(server, owner)})

    assert printed.splitlines() == [
        "AR: 2 orders, 15.00, last on 2026-01-02",
        "DE: 1 orders, 8.00, last on 2026-01-02",
        "in all: 23.00",
        "id BIGINT",
        "country STRING",
        "amount DECIMAL(10,2)",
        "ordered DATE",
    ]


def issue_certificate() -> tuple[bytes, bytes, bytes]:
    """Return a key and a certificate of `localhost` as PEM, and the certificate as DER."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
        .not_valid_after(dt.datetime(2120, 1, 1, tzinfo=dt.UTC))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    unencrypted = serialization.NoEncryption()
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, unencrypted)
    return private, certificate.public_bytes(pem), certificate.public_bytes(serialization.Encoding.DER)


def test_the_driver_sends_its_token_under_tls(programs: JavaPrograms, tmp_path: Path) -> None:
    key, certificate, der = issue_certificate()
    write_truststore([der], tmp_path / "authorities.jks")
    trust = (f"-Djavax.net.ssl.trustStore={tmp_path}/authorities.jks", "-Djavax.net.ssl.trustStorePassword=changeit")
    with (
        fake_backend() as backend,
        running_gateway(backend.driver, "ann", tls=grpc.ssl_server_credentials([(key, certificate)])) as gateway,
    ):
        url = f"jdbc:sc://localhost:{gateway.port}/;use_ssl=true;token=unknown"
        printed = programs.run("JdbcChecks", url, "refused", "SELECT 1", options=trust)

    assert "the token is not valid" in printed
