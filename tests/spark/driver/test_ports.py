"""The ports of drivers: chosen once, so that the gateway's sandbox can list them, and assigned while they are free."""

import socket
from contextlib import ExitStack

import pytest

from headgate.spark.driver.ports import NoPortError, SessionPorts


def taken(opened: ExitStack, port: int) -> None:
    server = opened.enter_context(socket.socket())
    server.bind(("127.0.0.1", port))
    server.listen()


def test_each_driver_gets_ports_of_its_own() -> None:
    ports = SessionPorts()

    given = [ports.take() for _ in range(len(ports.all))]

    assert {each.connect for each in given} == set(ports.all)
    assert len({port for each in given for port in each.all}) == 3 * len(given)


def test_no_driver_gets_a_port_of_the_gateway_or_of_the_sessions_of_other_drivers() -> None:
    ports = SessionPorts()
    kept = {*ports.all, ports.gateway}

    for _ in range(2000):
        given = ports.take()
        assert given.connect in ports.all
        assert not {given.driver, given.blocks} & kept
        ports.release(given)


def test_a_port_is_not_assigned_again_while_its_driver_runs() -> None:
    ports = SessionPorts()
    runs = ports.take()

    for _ in range(2 * len(ports.all)):
        given = ports.take()
        assert not set(given.all) & set(runs.all)
        ports.release(given)
    ports.release(runs)

    assert runs.connect in {ports.take().connect for _ in ports.all}


def test_a_port_that_another_program_uses_is_skipped() -> None:
    ports = SessionPorts()
    with ExitStack() as opened:
        for port in ports.all[:10]:
            taken(opened, port)

        assert ports.take().connect == ports.all[10]


def test_an_error_reports_that_all_ports_are_in_use() -> None:
    ports = SessionPorts()
    with ExitStack() as opened:
        for port in ports.all:
            taken(opened, port)

        with pytest.raises(NoPortError, match="all 64 ports for Spark drivers are in use"):
            ports.take()
        opened.close()
        assert ports.take().connect in ports.all
