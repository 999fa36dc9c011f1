"""What `headgate status` says of a deployment."""

import httpx
import pytest

from headgate.cli.api.status import describe_health


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://127.0.0.1:8020", "sc://localhost:15002"),
        ("http://[::1]:8020", "sc://localhost:15002"),
        ("https://lake.example.org", "sc://lake.example.org:15002/;use_ssl=true"),
    ],
)
def test_the_status_shows_an_address_to_which_pyspark_sends_a_token(url: str, address: str) -> None:
    health = {"api": "ok", "spark": "ok", "spark_port": 15002}

    assert describe_health(health, httpx.URL(url)) == f"api ok, spark ok at {address}"
