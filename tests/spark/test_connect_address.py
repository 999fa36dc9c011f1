"""The address of the Spark Connect gateway."""

import pytest

from headgate.spark.connect_address import connect_address


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost", "LOCALHOST"])
def test_a_loopback_host_without_tls_is_named_localhost(host: str) -> None:
    assert connect_address(host, 15002, tls=False) == "sc://localhost:15002"


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("lake.example.org", "sc://lake.example.org:443/;use_ssl=true"),
        ("127.0.0.1", "sc://127.0.0.1:443/;use_ssl=true"),
        ("fd00::1", "sc://[fd00::1]:443/;use_ssl=true"),
    ],
)
def test_a_host_with_tls_keeps_its_name(host: str, address: str) -> None:
    assert connect_address(host, 443, tls=True) == address


def test_another_host_without_tls_keeps_its_name() -> None:
    assert connect_address("10.0.0.7", 15002, tls=False) == "sc://10.0.0.7:15002"
