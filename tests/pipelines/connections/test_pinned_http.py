"""HTTP requests go to the address that the egress check allowed, under the name of their host."""

from collections.abc import Sequence
from ipaddress import ip_address

import httpx
import pytest
from typing_extensions import override

from headgate.control.egress import Address
from headgate.pipelines.connections.egress import EgressError
from headgate.pipelines.connections.pinned_http import PinnedTransport


class Wire(httpx.BaseTransport):
    """A transport that records requests; connections to the addresses in `dead` fail."""

    def __init__(self, *dead: str) -> None:
        self.dead = dead
        self.sent: list[httpx.Request] = []

    @override
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        if request.url.host in self.dead:
            raise httpx.ConnectError("refused")
        return httpx.Response(200)


def client(wire: Wire, *addresses: str) -> httpx.Client:
    return httpx.Client(transport=PinnedTransport(lambda *_: [ip_address(each) for each in addresses], wire))


def test_a_request_goes_to_the_allowed_address_under_its_host_name() -> None:
    wire = Wire()

    answer = client(wire, "93.184.215.14").get("https://api.example.org/rows?a=b")

    (sent,) = wire.sent
    assert (sent.url.host, sent.url.raw_path) == ("93.184.215.14", b"/rows?a=b")
    assert sent.headers["host"] == "api.example.org"
    assert sent.extensions["sni_hostname"] == "api.example.org"
    assert answer.url.host == "api.example.org"


def test_a_request_to_an_ip_address_sends_no_server_name_in_tls() -> None:
    wire = Wire()

    client(wire, "::1").get("https://[::1]:8443/")

    assert "sni_hostname" not in wire.sent[0].extensions
    assert wire.sent[0].headers["host"] == "[::1]:8443"


def test_the_next_address_is_tried_after_a_failed_connection() -> None:
    wire = Wire("1.1.1.1")

    assert client(wire, "1.1.1.1", "1.0.0.1").get("http://api.example.org/").status_code == 200
    assert [each.url.host for each in wire.sent] == ["1.1.1.1", "1.0.0.1"]


def test_a_refused_host_is_never_connected() -> None:
    wire = Wire()

    def refuse(host: str, port: int) -> Sequence[Address]:
        raise EgressError(f"{host} {port}")

    with pytest.raises(EgressError, match="metadata 80"):
        httpx.Client(transport=PinnedTransport(refuse, wire)).get("http://metadata/")
    assert wire.sent == []


def test_each_redirect_is_checked() -> None:
    class Leads(Wire):
        @override
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            super().handle_request(request)
            return httpx.Response(302, headers={"location": "http://169.254.169.254/latest"})

    def decide(host: str, port: int) -> Sequence[Address]:
        if host != "api.example.org":
            raise EgressError(f"{host} {port}")
        return [ip_address("93.184.215.14")]

    wire = Leads()

    with pytest.raises(EgressError, match=r"169\.254\.169\.254 80"):
        httpx.Client(transport=PinnedTransport(decide, wire), follow_redirects=True).get("http://api.example.org/")
    assert len(wire.sent) == 1


def test_a_name_without_an_address_raises_a_connection_error() -> None:
    def fails(*_: object) -> Sequence[Address]:
        raise OSError("no address")

    with pytest.raises(httpx.ConnectError):
        httpx.Client(transport=PinnedTransport(fails, Wire())).get("http://api.example.org/")


def test_an_internationalized_name_is_checked_in_the_form_that_is_sent() -> None:
    wire, decided = Wire(), list[str]()

    def decide(host: str, _: int) -> Sequence[Address]:
        decided.append(host)
        return [ip_address("93.184.215.14")]

    httpx.Client(transport=PinnedTransport(decide, wire)).get("https://xn--bcher-kva.example/")

    assert decided == ["xn--bcher-kva.example"]
    assert wire.sent[0].headers["host"] == wire.sent[0].extensions["sni_hostname"] == "xn--bcher-kva.example"
