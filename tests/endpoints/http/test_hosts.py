"""The `Host` header: accepted if it names this server, and without effect if a public URL is configured."""

import pytest
from starlette.datastructures import URL

from headgate.endpoints.http.hosts import Hosts

LISTENER = "192.0.2.7"
OWN = ["localhost", "LOCALHOST:8020", "localhost.", "a.localhost", "127.0.0.1", "127.9.9.9:1", "[::1]", "[::1]:8020"]
FOREIGN = [
    "evil.example",
    "192.0.2.8",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "evil.example:8020",
    "127.0.0.1@evil.example",
    "evil.example#localhost",
    "localhost/evil.example",
    "localhost:8020:1",
    "localhost evil.example",
    "[::1]evil.example",
    "2130706433",
    "0x7f.1",
    "",
]


class TestWithoutAPublicUrl:
    @pytest.mark.parametrize("host", OWN)
    def test_a_loopback_name_or_address_is_accepted(self, host: str) -> None:
        assert Hosts().accepts(host.encode(), LISTENER)

    @pytest.mark.parametrize("host", [LISTENER, f"{LISTENER}:8020", f"[::ffff:{LISTENER}]"])
    def test_the_address_of_the_listener_is_accepted(self, host: str) -> None:
        assert Hosts().accepts(host.encode(), LISTENER)
        assert not Hosts().accepts(host.encode(), "192.0.2.9")

    @pytest.mark.parametrize("host", FOREIGN)
    def test_a_foreign_host_is_refused(self, host: str) -> None:
        assert not Hosts().accepts(host.encode(), LISTENER)

    def test_the_name_of_a_listener_is_not_accepted_as_a_host(self) -> None:
        assert not Hosts().accepts(b"evil.example", "evil.example")


class TestAPublicUrl:
    @pytest.mark.parametrize("host", [*OWN, *FOREIGN])
    def test_a_public_url_replaces_every_host(self, host: str) -> None:
        hosts = Hosts("https://headgate.example/")
        headers = [(b"host", host.encode()), (b"x-forwarded-host", b"evil.example"), (b"accept", b"*/*")]
        scope = {"type": "http", "scheme": "http", "path": "/a", "query_string": b"", "headers": headers}

        hosts.rewrite(scope)

        assert hosts.accepts(host.encode())
        assert str(URL(scope=scope)) == "https://headgate.example/a"
        assert hosts.public_url == "https://headgate.example"
