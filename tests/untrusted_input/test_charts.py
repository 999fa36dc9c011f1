"""Charts: the library that draws them may crash its process, so each chart has a process of its own."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headgate.untrusted_input.blocking_pool import CHART_LIMITS
from headgate.untrusted_input.errors import UnreadableInputError
from headgate.untrusted_input.purposes import CHARTS
from tests.untrusted_input.parsers import Parsers, at_no_charge, parsers

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux enforces these limits")


@pytest.fixture(scope="module")
def charts() -> Iterator[Parsers]:
    with parsers(replace(CHART_LIMITS, wall_seconds=60.0), purpose=CHARTS) as running:
        yield running


def specification(*texts: str, **more: Any) -> bytes:
    """Return the specification of a chart with one bar for each text."""
    described = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"values": [{"x": each, "y": 1} for each in texts]},
        "mark": {"type": "bar"},
        "encoding": {"x": {"field": "x", "type": "nominal"}, "y": {"field": "y", "type": "quantitative"}},
    }
    return json.dumps(described | more).encode()


def draw(running: Parsers, document: bytes) -> str:
    """Return the chart of a specification."""
    [picture] = running.run(running.pool.rewrite("ann", b"chart", [document], at_no_charge))
    return picture.decode()


def test_a_chart_is_drawn_as_svg(charts: Parsers) -> None:
    picture = draw(charts, specification("one", "two", title="<script>"))

    assert picture.startswith("<svg")
    assert ">one</text>" in picture
    assert "<script" not in picture


@pytest.mark.parametrize("character", ["\x00", "\x01", "\ufffe"])
def test_a_panic_of_the_library_ends_one_chart_alone(charts: Parsers, character: str) -> None:
    with pytest.raises(UnreadableInputError, match="the chart could not be drawn"):
        draw(charts, specification(f"a{character}b"))

    assert draw(charts, specification("one")).startswith("<svg")


@pytest.mark.parametrize("document", [b"{}", b"no JSON", b"\xff", specification("a", mark={"type": "nosuch"})])
def test_a_specification_that_the_library_refuses_is_unreadable(charts: Parsers, document: bytes) -> None:
    with pytest.raises(
        UnreadableInputError, match="the rows cannot be drawn as a chart of the chosen type; choose another type"
    ):
        draw(charts, document)


def test_a_chart_loads_nothing_from_elsewhere(charts: Parsers) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/rows.json"
        with suppress(UnreadableInputError):
            draw(charts, specification(data={"url": url}))

        with pytest.raises(TimeoutError):
            server.accept()


@linux
def test_a_chart_that_computes_too_long_is_ended() -> None:
    with parsers(replace(CHART_LIMITS, cpu_seconds=2, wall_seconds=60.0), purpose=CHARTS) as running:
        with pytest.raises(UnreadableInputError, match="select fewer rows or shorter strings"):
            draw(running, specification("W" * 100_000))

        assert draw(running, specification("one")).startswith("<svg")


@linux
def test_a_chart_is_drawn_within_limits_that_hold_for_every_parser(charts: Parsers) -> None:
    async def look() -> dict[str, str]:
        await charts.settle()
        heavy = [specification("W" * 100_000)]
        task = asyncio.create_task(charts.pool.rewrite("ann", b"chart", heavy, at_no_charge))
        process = await charts.parser()
        found = limits(process)
        while found["Max address space"] == "unlimited":  # the last limit that the process sets
            await asyncio.sleep(0.01)
            found = limits(process)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return found

    found = charts.run(look())

    assert found["Max processes"] == "0"
    assert found["Max open files"] == "3"
    assert found["Max file size"] == "0"
    assert found["Max cpu time"] == str(CHART_LIMITS.cpu_seconds)
    assert found["Max address space"] != "unlimited"


def limits(process: int) -> dict[str, str]:
    """Return the soft limits of a process by name."""
    lines = Path(f"/proc/{process}/limits").read_text(encoding="utf-8").splitlines()[1:]
    return {line[:26].strip(): line[26:47].strip() for line in lines}


LOADED = """
import os, sys
sys.modules["numpy"] = None
from headgate.untrusted_input.rewriters import Family, load_preparation, load_rewriters
load_rewriters(Family.CHARTS), load_preparation(Family.CHARTS)
print(len(os.listdir("/proc/self/task")), "pyarrow" in sys.modules)
"""


@linux
def test_the_launcher_of_charts_has_one_thread_so_that_it_may_fork() -> None:
    loaded = subprocess.run((sys.executable, "-c", LOADED), capture_output=True, check=True, text=True)

    assert loaded.stdout.split() == ["1", "False"]
