"""`headgate model test`: runs the cases of scenario folders and compares the decisions with the expected ones."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.output import errors, fail, print_table, say

if TYPE_CHECKING:
    from headgate.cli.scenarios.folders import System
    from headgate.conformance.http.runner import HttpScenarioRunner
    from headgate.conformance.runner import Asking, CaseOutcome
    from headgate.control.kernel.log_follower import EngineFactory


class Answering(StrEnum):
    """The implementations that can decide: the compiled engine, or the reference."""

    ENGINE = "engine"
    REFERENCE = "reference"


class Entry(StrEnum):
    """The interfaces by which questions can be asked."""

    CORE = "core"
    HTTP = "http"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("test", epilog="Example: headgate model test harbour.yaml")(run_folders)


def run_folders(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="scenario folders, each with `worlds` and `cases`")
    ],
    *,
    engine: Annotated[Answering, typer.Option(help="the implementation that decides")] = Answering.ENGINE,
    entry: Annotated[
        Entry,
        typer.Option(
            help="the interface of the questions: the decision core, or the HTTP API as the actor of the case"
        ),
    ] = Entry.CORE,
    denials: Annotated[
        bool,
        typer.Option("--denials", help="list the denials that no small change of the world turns into an allow"),
    ] = False,
    only: Annotated[
        str | None, typer.Option(metavar="ID", help="run only the case with this id, and explain its decision")
    ] = None,
) -> None:
    """Run the cases of scenario folders. The exit code is 1 unless every decision is the expected one.

    The command also counts the denials that pass whatever the world says: a slip in such a case would not be found. It tries
    one assignment, one membership or one setting more, less or changed.
    """
    systems = _systems(folders, _start(engine))
    with _asking(entry) as (asking, summary):
        results = [(system, tuple(_outcomes(system, only, asking))) for system in systems]
    everything = [outcome for _, outcomes in results for outcome in outcomes]
    if only is not None and not everything:
        fail(f"there is no case with the id `{only}` in {', '.join(map(str, folders))}; correct the id")
        sys.exit(1)
    for outcome in everything:
        if only is not None or not outcome.passed:
            _print(outcome)
    rows = [(system.folder, system.name, *_counts(outcomes)) for system, outcomes in results if outcomes]
    print_table(("folder", "system", "passed", "failed"), rows)
    passed, failed = _counts(everything)
    summary()
    if entry is Entry.CORE and engine is Answering.ENGINE:
        _report_denials(results, listed=denials)
    say(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


def _start(engine: Answering) -> "EngineFactory":
    if engine is Answering.REFERENCE:
        from headgate.decision.evaluator import Reference

        return Reference
    from headgate.decision.engine.engine import Engine

    return Engine


@contextmanager
def _asking(entry: Entry) -> "Iterator[tuple[Asking, Callable[[], None]]]":
    """Open the interface; yield the function that asks questions, and the function that prints a summary."""
    if entry is Entry.CORE:
        from headgate.conformance.runner import by_engine

        yield by_engine, lambda: None
        return
    from headgate.conformance.http.runner import scenario_server

    with scenario_server() as opened:
        yield opened.ask, lambda: _sum_up(opened)


def _sum_up(opened: "HttpScenarioRunner") -> None:
    say(f"for {opened.confirmed} of the cases, the dry run of a route gave the same decision")
    say(
        f"for {opened.unconfirmed} of the cases, only AuthZEN answered, because no route with a dry run fits the question"
    )


def _systems(folders: Sequence[Path], start: "EngineFactory") -> "list[System]":
    from headgate.cli.scenarios.folders import read_folder
    from headgate.conformance.errors import ScenarioError
    from headgate.model.diagnostics import ModelError

    try:
        return [system for folder in folders for system in read_folder(folder, start)]
    except (ScenarioError, ModelError) as error:
        fail(str(error))
        sys.exit(1)


def _outcomes(system: "System", only: str | None, asking: "Asking") -> "Iterator[CaseOutcome]":
    from rich.progress import track

    from headgate.conformance.runner import run_case

    cases = [case for case in system.cases if only in (None, case.id)]
    shown = track(cases, system.name, console=errors, transient=True, disable=not errors.is_terminal)
    return (run_case(system.world, case, asking) for case in shown)


def _report_denials(results: "Sequence[tuple[System, Sequence[CaseOutcome]]]", *, listed: bool) -> None:
    """Report the passed denials that do not depend on the world: their number, or each with the line of its case."""
    from headgate.conformance.small_changes import depends_on_world

    found = [
        (system.file, outcome.case)
        for system, outcomes in results
        for outcome in outcomes
        if outcome.passed and not depends_on_world(system.world, outcome.case)
    ]
    for file, case in found if listed else ():
        say(f"{file}:{case.line}: warning: {case.id}: no small change of the world turns this denial into an allow")
    if found:
        hint = "" if listed else "; list them with `--denials`"
        say(f"denials that no small change of the world turns into an allow: {len(found)}{hint}")


def _counts(outcomes: "Sequence[CaseOutcome]") -> tuple[int, int]:
    passed = sum(outcome.passed for outcome in outcomes)
    return passed, len(outcomes) - passed


def _print(outcome: "CaseOutcome") -> None:
    say(f"{outcome.case.id}: expected {outcome.case.expect}, the answer is {outcome.answer}")
    say(f"  {outcome.why}")
    say(f"  {outcome.case.note}")
