"""Loads the organization into each server, compares each with the oracle, then measures them in turn."""

import argparse
import gc
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import cycle, islice
from typing import NamedTuple

import uvloop

from bench.decision_engines.organization import SMALL, USUAL, Grant, Organization, Sizes, generate
from bench.decision_engines.sample import Case as Asked
from bench.decision_engines.sample import Sample, sample
from bench.http_engines.case import Case, Exchange, WrongAnswerError
from bench.http_engines.figures import READS, WRITES, Figure, Measured, measured
from bench.http_engines.headgate import HeadgateOnPostgres, HeadgateServing
from bench.http_engines.load import Taken, load
from bench.http_engines.opa import OpaServing
from bench.http_engines.openfga import OpenFgaServing
from bench.http_engines.report import table
from bench.http_engines.serving import BATCH, Serving

SERVERS: Mapping[str, type[Serving]] = {
    each.name: each for each in (HeadgateServing, HeadgateOnPostgres, OpaServing, OpenFgaServing)
}
COMPARED_SECONDS = 60.0
PATIENCE = 4
"""A figure is not measured again for a server that takes this many times as long as planned."""


class Effort(NamedTuple):
    """The amount of measurements: the organization, and the rounds and seconds of each figure."""

    sizes: Sizes
    rounds: int
    seconds: float


FULL, QUICK = Effort(USUAL, 5, 1.0), Effort(SMALL, 1, 0.05)
Cases = Mapping[str, Iterator[Case]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(prog="bench/http", description=__doc__)
    parser.add_argument("--engines", default=",".join(SERVERS), help="names with commas between; default: all")
    parser.add_argument("--quick", action="store_true", help="a small organization and hardly any time: does it work?")
    chosen = parser.parse_args(arguments)
    names = chosen.engines.split(",")
    if unknown := [name for name in names if name not in SERVERS]:
        parser.error(f"there is no server `{unknown[0]}`; choose from {', '.join(SERVERS)}")
    try:
        print(compared(found(names), QUICK if chosen.quick else FULL))
    except WrongAnswerError as error:
        print(f"http: wrong answer: {error}", file=sys.stderr)
        return 1
    return 0


def found(names: Sequence[str]) -> list[type[Serving]]:
    """Return the installed servers, and print those that are not installed."""
    kinds: list[type[Serving]] = []
    for name in names:
        if missing := SERVERS[name].missing():
            print(f"{name}: skipped, because {missing}")
        else:
            kinds.append(SERVERS[name])
    return kinds


def compared(kinds: Sequence[type[Serving]], effort: Effort) -> str:
    """Return the table of these servers.

    Raises:
        WrongAnswerError: a server and the oracle disagree.
    """
    organization = generate(effort.sizes)
    asked = sample(organization)
    with ExitStack() as stack:
        servers = [stack.enter_context(closing(kind(organization))) for kind in kinds]
        cases = {server: _cases(server, organization, asked) for server in servers}
        gc.collect()
        gc.disable()  # reference counting frees what the client drops
        stack.callback(gc.enable)
        for server in servers:
            answers = sum(_compare(server, kind, len(asked["table"]), cases[server]) for kind in ("table", "pipeline"))
            print(f"{server.name}: {answers:,} answers agree with the oracle", flush=True)
        taken = _in_turn(servers, cases, effort)
        return table({server.name: _measured(taken, server) for server in servers})


def _in_turn(
    servers: Sequence[Serving], cases: Mapping[Serving, Cases], effort: Effort
) -> dict[tuple[Serving, Figure], list[Taken]]:
    """Measure the servers in turn for each figure, so that other work of the machine affects all equally; writes are last."""
    taken: dict[tuple[Serving, Figure], list[Taken]] = {}
    for figure in (*READS, *WRITES):
        waiting = [*servers]
        for _ in range(effort.rounds):
            for server in (*waiting,):
                running = _run(server, cases[server][figure.kind], figure.clients, effort.seconds)
                taken.setdefault((server, figure), []).append(running)
                if running.seconds > PATIENCE * effort.seconds:
                    waiting.remove(server)  # one measurement is enough for a slow server
    return taken


def _measured(taken: Mapping[tuple[Serving, Figure], list[Taken]], server: Serving) -> dict[Figure, Measured | None]:
    return {figure: measured(figure, taken[server, figure]) for figure in (*READS, *WRITES)}


def _compare(server: Serving, kind: str, count: int, cases: Cases) -> int:
    """Send every case once; return their number."""
    return len(_run(server, islice(cases[kind], count), 4, COMPARED_SECONDS).each)


def _run(server: Serving, cases: Iterator[Case], clients: int, seconds: float) -> Taken:
    return uvloop.run(load(server.port, server.says, cases, clients, seconds))


def _cases(server: Serving, organization: Organization, asked: Sample) -> Cases:
    """Create the cases of a server; those of grants are used once."""
    tables = asked["table"]
    batches = (tables[start : start + BATCH] for start in range(0, len(tables), BATCH))
    revoked = [server.revoke(case.about) for case in asked["revoke"]]
    granted = map(server.grant, _new_grants(organization))
    return {
        "table": cycle([Case((Exchange(server.table(each.about), each.right),)) for each in tables]),
        "pipeline": cycle([server.pipeline(each.about, right=each.right is True) for each in asked["pipeline"]]),
        "batch": cycle([_batch(server, batch) for batch in batches]),
        "revoke": cycle([each for each in revoked if each]),
        "grant": (Case((each,)) for each in granted if each),
    }


def _batch(server: Serving, cases: Sequence[Asked]) -> Case:
    return Case((Exchange(server.batch([each.about for each in cases]), [each.right for each in cases]),))


def _new_grants(organization: Organization) -> Iterator[Grant]:
    """Yield new grants, for the users that are in no check."""
    there = {(grant.subject, grant.place) for grant in organization.grants}
    pairs = ((user, table) for table in organization.layer_of for user in organization.users[1::2])
    return (Grant(user, "viewer", table) for user, table in pairs if (user, table) not in there)
