"""The ports of a driver: any process of the machine can connect, but a process without the secret gets no service."""

import sys

import pytest

from tests.spark.guard.driver_harness import ADMIN, DriverHarness
from tests.spark.guard.strangers import answers, is_known, listening_ports

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists the ports of a process in /proc"),
]


def test_an_unauthenticated_client_gets_nothing_from_the_ports_for_executors(lake: DriverHarness) -> None:
    lake.session(ADMIN).sql("SELECT year, count(*) FROM lake.raw.flights GROUP BY 1").collect()
    secret = lake.warehouse / "secret.txt"
    secret.write_text("the secret of others", encoding="utf-8")
    assert lake.driver.pid

    ports = listening_ports(lake.driver.pid) - {int(lake.driver.address.rpartition(":")[2])}
    said = {(port, what): answer for port in ports for what, answer in answers(port, secret).items()}

    assert len(ports) == 2
    assert {what: answer for what, answer in said.items() if is_known(answer)} == {}
