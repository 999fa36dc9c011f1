"""The report: a table of the figures, and the targets below it."""

import os

from bench.http_engines.figures import READS, WRITES, Figure, Measured, Results, aims


def table(results: Results) -> str:
    """Return the table: evaluations or writes per second, and the 50th and 99th percentile of the times."""
    lines = [f"{'':34}{''.join(f'{name:>32}' for name in results)}"]
    lines.append(f"{'':34}" + f"{'per second':>12}{'p50':>10}{'p99':>10}" * len(results))
    lines += [_line(figure, [each.get(figure) for each in results.values()]) for figure in (*READS, *WRITES)]
    reached = [f"{each.text:72}{each.value:>10}  {'met' if each.met else 'MISSED'}" for each in aims(results)]
    busy = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    return "\n".join([*lines, "", *reached, "", f"{os.cpu_count()} processors; load of 1, 5 and 15 minutes: {busy}"])


def _line(figure: Figure, cells: list[Measured | None]) -> str:
    return f"{figure.title:34}{''.join(map(_cell, cells))}"


def _cell(measured: Measured | None) -> str:
    if measured is None:
        return f"{'-':>12}{'-':>10}{'-':>10}"
    return f"{measured.rate:>12,.0f}{_time(measured.p50):>10}{_time(measured.p99):>10}"


def _time(nanoseconds: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds / 1e3:.0f} µs"
