"""PostgreSQL's JDBC driver: with Headgate's properties it sends nothing that belongs to the user that Java runs as."""

import subprocess
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from headgate.pipelines.connections.jdbc_access import jdbc_access
from headgate.pipelines.connections.targets import DatabasePlace
from headgate.spark.toolchain.prepare import Toolchain
from tests.endpoints.http.test_tls import issue
from tests.fakes.postgres import CLEARTEXT, GSSAPI, TLS, Received, postgres_that_asks
from tests.pipelines.connections.test_database import asks_for_certificate

pytestmark = pytest.mark.spark

OF_SOCKETS = ("socketFactory", "socketFactoryArg")
"""The properties that the guard needs in addition to the driver's."""
PROGRAM = """
public class Connect {
    public static void main(String[] arguments) throws Exception {
        java.util.Properties said = new java.util.Properties();
        for (int i = 1; i < arguments.length; i += 2) said.setProperty(arguments[i], arguments[i + 1]);
        try {
            new org.postgresql.Driver().connect(arguments[0], said).close();
        } catch (java.sql.SQLException refused) {
            System.out.println(refused.getMessage());
        }
    }
}
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return the home folder of a user with a password file and a client certificate."""
    (tmp_path / ".pgpass").write_text("*:*:*:*:the-operators-own\n")
    (tmp_path / ".pgpass").chmod(0o600)
    (tmp_path / ".postgresql").mkdir()
    certificate, key = issue(tmp_path, "own")
    read = serialization.load_pem_private_key(key.read_bytes(), None)
    form, hidden = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    written = read.private_bytes(serialization.Encoding.DER, form, hidden)
    (tmp_path / ".postgresql" / "postgresql.crt").write_bytes(certificate.read_bytes())
    (tmp_path / ".postgresql" / "postgresql.pk8").write_bytes(written)
    return tmp_path


def try_to_connect(
    toolchain: Toolchain, home: Path, received: Received, password: str = "", sslmode: str = "prefer"
) -> str:
    """Connect to a server that refuses every client, and return the driver's message."""
    local = (ip_address("127.0.0.1"),)
    entered = jdbc_access(DatabasePlace("127.0.0.1", received.port, "shop", "ada", password, sslmode, local))
    said = [word for each in entered.properties.items() if each[0] not in OF_SOCKETS for word in each]
    (home / "Connect.java").write_text(PROGRAM)
    java = [
        str(toolchain.java),
        f"-Duser.home={home}",
        "-cp",
        str(toolchain.postgresql_jar),
        str(home / "Connect.java"),
    ]
    environment = {"HOME": str(home), "PGPASSFILE": str(home / ".pgpass")}
    done = subprocess.run([*java, entered.url, *said], capture_output=True, text=True, env=environment, check=True)
    return done.stdout


def test_the_driver_sends_no_password_of_a_password_file(toolchain: Toolchain, home: Path) -> None:
    with postgres_that_asks(CLEARTEXT) as received:
        try_to_connect(toolchain, home, received)

    assert received.requests == [TLS]
    assert received.answers == [b"p\0"]


def test_the_driver_shows_no_certificate_of_the_home_folder(toolchain: Toolchain, home: Path) -> None:
    with postgres_that_asks(CLEARTEXT, asks_for_certificate(home / "tls.crt", home / "tls.key")) as received:
        try_to_connect(toolchain, home, received, "open sesame", "require")

    assert received.answers == [b"popen sesame\0"]
    assert not received.has_certificate


def test_the_driver_uses_no_kerberos_login(toolchain: Toolchain, home: Path) -> None:
    with postgres_that_asks(GSSAPI) as received:
        refused = try_to_connect(toolchain, home, received, "open sesame")

    assert "GSS" in refused
    assert received.answers == []
