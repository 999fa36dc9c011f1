"""A database connection sends no credentials of the server's own user, whatever its environment and home folder have."""

import ssl
from ipaddress import ip_address
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo

from headgate.pipelines.connections import database
from headgate.pipelines.connections.database import SETTINGS, UNSAID, connect_database, database_parameters
from headgate.pipelines.connections.targets import DatabasePlace
from tests.endpoints.http.test_tls import issue
from tests.fakes.postgres import CLEARTEXT, GSS, GSSAPI, SSPI, TLS, Received, postgres_that_asks

OPERATORS = "the-operators-own"
FROM_ENVIRONMENT = {
    "PGPASSWORD": OPERATORS,
    "PGUSER": OPERATORS,
    "PGDATABASE": OPERATORS,
    "PGHOST": "192.0.2.1",
    "PGHOSTADDR": "192.0.2.1",
    "PGPORT": "1",
    "PGOPTIONS": f"-c search_path={OPERATORS}",
    "PGAPPNAME": OPERATORS,
    "PGCLIENTENCODING": "LATIN1",
    "PGGSSENCMODE": "prefer",
    "PGREQUIREAUTH": "password",
    "PGSSLMODE": "disable",
    "PGTARGETSESSIONATTRS": "standby",
}
LOCAL = (ip_address("127.0.0.1"),)


def place(port: int = 5432, password: str = "", sslmode: str = "prefer") -> DatabasePlace:
    return DatabasePlace("db.example.org", port, "shop", "ada", password, sslmode, LOCAL)


def try_to_connect(received: Received, password: str = "", sslmode: str = "prefer") -> None:
    """Connect to a server that refuses every login."""
    with pytest.raises(psycopg.Error):
        connect_database(place(received.port, password, sslmode))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the home folder of a user who has a password file."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".pgpass").write_text(f"*:*:*:*:{OPERATORS}\n")
    (tmp_path / ".pgpass").chmod(0o600)
    return tmp_path


@pytest.mark.usefixtures("home")
class TestAPassword:
    def test_the_password_in_the_home_of_the_servers_user_is_not_sent(self) -> None:
        with postgres_that_asks(CLEARTEXT) as received:
            try_to_connect(received)

        assert received.startup
        assert received.answers == []

    def test_the_password_in_a_file_named_by_the_environment_is_not_sent(
        self, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PGPASSFILE", str(home / ".pgpass"))
        with postgres_that_asks(CLEARTEXT) as received:
            try_to_connect(received)

        assert received.answers == []

    def test_a_password_of_the_environment_or_a_service_file_is_not_sent(
        self, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (home / "services").write_text(f"[own]\npassword={OPERATORS}\noptions=-c search_path={OPERATORS}\n")
        for name, value in {"PGPASSWORD": OPERATORS, "PGSERVICE": "own", "PGSERVICEFILE": home / "services"}.items():
            monkeypatch.setenv(name, str(value))
        with postgres_that_asks(CLEARTEXT) as received:
            try_to_connect(received)

        assert received.startup["user"] == "ada"
        assert "options" not in received.startup
        assert received.answers == []

    def test_the_connections_own_password_is_sent(self) -> None:
        with postgres_that_asks(CLEARTEXT) as received:
            try_to_connect(received, "open sesame")

        assert received.answers == [b"popen sesame\0"]


class TestASession:
    def test_a_session_takes_no_parameter_from_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in FROM_ENVIRONMENT.items():
            monkeypatch.setenv(name, value)
        with postgres_that_asks(CLEARTEXT) as received:
            try_to_connect(received, "open sesame")

        assert received.requests == [TLS]
        assert received.startup == {
            "user": "ada",
            "database": "shop",
            "application_name": "headgate",
            "client_encoding": "UTF8",
        }

    @pytest.mark.parametrize("demand", [GSSAPI, SSPI])
    @pytest.mark.parametrize("password", ["", "open sesame"])
    def test_a_session_is_not_authenticated_by_a_kerberos_ticket_of_the_servers_user(
        self, demand: int, password: str
    ) -> None:
        with postgres_that_asks(demand) as received:
            try_to_connect(received, password)

        assert GSS not in received.requests
        assert received.answers == []

    def test_a_session_with_a_key_from_a_service_file_is_not_started(
        self, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (home / "services").write_text("[own]\nscram_client_key=AAAA\n")
        monkeypatch.setenv("PGSERVICE", "own")
        monkeypatch.setenv("PGSERVICEFILE", str(home / "services"))
        with postgres_that_asks(CLEARTEXT) as received, pytest.raises(psycopg.Error, match="scram_client_key"):
            connect_database(place(received.port))

        assert received.requests == []


class TestACertificate:
    @pytest.mark.parametrize("mode", [None, "require"])
    def test_a_client_certificate_of_the_servers_user_is_not_presented(
        self, home: Path, monkeypatch: pytest.MonkeyPatch, mode: str | None
    ) -> None:
        (home / ".postgresql").mkdir()
        certificate, key = (
            each.rename(home / ".postgresql" / f"postgresql{each.suffix}") for each in issue(home, "own")
        )
        key.chmod(0o600)
        if mode is not None:
            monkeypatch.setenv("PGSSLCERT", str(certificate))
            monkeypatch.setenv("PGSSLKEY", str(key))
            monkeypatch.setenv("PGSSLCERTMODE", mode)
        with postgres_that_asks(CLEARTEXT, asks_for_certificate(certificate, key)) as received:
            try_to_connect(received, "open sesame", "require")

        assert received.answers == [b"popen sesame\0"]
        assert not received.has_certificate

    def test_a_host_certificate_is_verified_with_the_documented_root_file_only(
        self, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (home / ".postgresql").mkdir()
        certificate, key = issue(home, "other")
        monkeypatch.setenv("PGSSLROOTCERT", str(certificate))
        with postgres_that_asks(CLEARTEXT, asks_for_certificate(certificate, key)) as received:
            try_to_connect(received, "open sesame", "verify-ca")

        assert received.answers == []


def asks_for_certificate(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return a TLS context of a server that accepts a client certificate but does not require one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(certificate)
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


class TestEveryKeywordOfLibpq:
    def test_every_libpq_keyword_is_set_or_listed_with_a_reason(self) -> None:
        of_libpq = {each.keyword.decode() for each in Conninfo.get_defaults()}
        said = set(database_parameters(place()))

        assert of_libpq - said == set(UNSAID)
        assert not said & set(UNSAID)

    def test_libpq_connects_with_the_values_of_the_keywords(self, empty_postgres_url: str) -> None:
        parts = conninfo_to_dict(empty_postgres_url)
        database = DatabasePlace(
            "127.0.0.1", int(str(parts["port"])), str(parts["dbname"]), str(parts["user"]), "", "prefer", LOCAL
        )

        with connect_database(database) as connection:
            assert connection.execute("SELECT current_setting('application_name')").fetchone() == ("headgate",)

    def test_credential_keywords_name_no_existing_file(self) -> None:
        files = {name: SETTINGS[name] for name in ("passfile", "sslcert", "sslkey")}

        assert not any(Path(each).exists() for each in files.values())
        assert all(files.values())
        assert database_parameters(place())["require_auth"] == "none"


def test_one_function_opens_all_database_connections_of_pipelines() -> None:
    sources = Path(database.__file__).parents[2]
    connecting = {
        str(each.relative_to(sources))
        for each in sources.rglob("*.py")
        if "psycopg.connect(" in each.read_text("utf-8")
    }

    assert connecting == {"pipelines/connections/database.py", "store/notifications.py"}
