"""The ports of drivers: chosen once, so that the gateway's sandbox can name them, and given out while they are free."""

import socket
from contextlib import ExitStack

import pytest

from headgate.spark.driver_ports import NoPortError, SessionPorts


def taken(opened: ExitStack, port: int) -> None:
    server = opened.enter_context(socket.socket())
    server.bind(("127.0.0.1", port))
    server.listen()


def test_each_driver_gets_other_ports() -> None:
    ports = SessionPorts()

    given = [ports.ports() for _ in range(len(ports.all))]

    assert {each.connect for each in given} == set(ports.all)
    assert all(len(set(each.all)) == 3 for each in given)


def test_a_port_that_another_program_has_taken_is_passed_over() -> None:
    ports = SessionPorts()
    with ExitStack() as opened:
        for port in ports.all[:10]:
            taken(opened, port)

        assert ports.choose() == ports.all[10]


def test_no_free_port_is_said() -> None:
    ports = SessionPorts()
    with ExitStack() as opened:
        for port in ports.all:
            taken(opened, port)

        with pytest.raises(NoPortError, match="all 64 ports for Spark drivers are in use"):
            ports.choose()
        opened.close()
        assert ports.choose() in ports.all
