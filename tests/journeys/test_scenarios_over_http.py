"""The scenario suite over HTTP: every answer is the models' decision.

The state is imported, and the actor uses a real secret.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headgate.cli.every_command import app
from headgate.cli.scenarios.folders import read_folder
from headgate.conformance.http.routes import Route, load_route_table
from headgate.conformance.http.runner import HttpScenarioRunner, scenario_server
from headgate.conformance.runner import run_case
from headgate.decision.engine.engine import Engine
from tests.app.routes import Route as Described
from tests.app.routes import resolved
from tests.app.routes import routes as described
from tests.scenarios.folders import FOLDERS

EVERY = (
    pytest.param(25, id="sample"),
    pytest.param(1, id="all", marks=[pytest.mark.soak, pytest.mark.timeout(900)]),
)
"""The test runs every 25th case; the soak runs all of them."""


@pytest.fixture(scope="module")
def opened() -> Iterator[HttpScenarioRunner]:
    with scenario_server() as found:
        yield found


@pytest.mark.timeout(300)
@pytest.mark.parametrize("step", EVERY)
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_case_is_answered_as_it_expects(folder: Path, step: int, opened: HttpScenarioRunner) -> None:
    outcomes = [
        run_case(system.world, case, opened.ask)
        for system in read_folder(folder, Engine)
        for case in system.cases[::step]
    ]

    assert [f"{each.case.id}: {each.answer}, {each.why}" for each in outcomes if not each.passed] == []
    assert outcomes


def test_the_command_counts_what_passed_and_what_a_route_has_confirmed(tmp_path: Path) -> None:
    cases = [
        ("A", "assigned", [{"grant": {"to": "m", "role": "viewer", "on": "L"}}], {"action": "see", "resource": "L"}),
        ("B", "nothing", [], {"action": "see", "resource": "L"}),
        ("C", "no route", [], {"action": "execute_query", "resource": "w"}),
    ]
    for folder in ("worlds", "cases"):
        (tmp_path / folder).mkdir()
    (tmp_path / "worlds" / "nekt.yaml").write_text(WORLD)
    lines = (
        {
            "id": id,
            "system": "nekt",
            "given": given,
            "ask": {"actor": "m", "with": {}, **ask},
            "expect": "allow",
            "note": note,
            "source": "",
        }
        for id, note, given, ask in cases
    )
    (tmp_path / "cases" / "nekt.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    done = CliRunner().invoke(app, ["model", "test", str(tmp_path), "--entry", "http"])

    assert done.exit_code == 1
    assert "B: expected allow, the answer is deny" in done.output
    assert done.output.splitlines()[-3:] == [
        "for 2 of the cases, the dry run of a route gave the same decision",
        "for 1 of the cases, only AuthZEN answered, because no route with a dry run fits the question",
        "1 passed, 2 failed",
    ]


WORLD = """
users: [{id: m, org_role: member}]
resources:
  - {id: w, type: workspace, parent: null}
  - {id: L, type: layer, parent: w}
"""


def test_a_parameter_that_no_command_passes_is_asked_about_over_authzen_only(tmp_path: Path) -> None:
    for folder in ("worlds", "cases"):
        (tmp_path / folder).mkdir()
    (tmp_path / "demo.yaml").write_text(MODEL)
    (tmp_path / "worlds" / "demo.yaml").write_text(WORLD_OF_MODEL)
    ask = {"actor": "m", "action": "edit", "resource": "p", "with": {"ticket": "approved"}}
    case = {"id": "A", "system": "demo", "given": [], "ask": ask, "expect": "allow", "note": "", "source": ""}
    (tmp_path / "cases" / "demo.jsonl").write_text(json.dumps(case))

    done = CliRunner().invoke(app, ["model", "test", str(tmp_path), "--entry", "http"])

    assert done.output.splitlines()[-2:] == [
        "for 1 of the cases, only AuthZEN answered, because no route with a dry run fits the question",
        "1 passed, 0 failed",
    ]


MODEL = """
model: demo
version: 1
types: {organization: {under: [deployment]}, rule: {own: true, under: [organization]}}
parameters: {rule.edit: [ticket]}
roles: {owner: {on: [organization], actions: {rule: [edit]}}}
spread: [{roles: [owner], from: [organization]}]
needs: {rule.edit: [{when: with.ticket is approved}]}
assign: [{holder: owner, roles: [owner], on: [organization]}]
"""

WORLD_OF_MODEL = """
users: [{id: m, org_role: owner}]
resources: [{id: o, type: organization, parent: null}, {id: p, type: rule, parent: o}]
"""


def test_each_route_that_confirms_cases_is_served_and_takes_what_it_is_sent(opened: HttpScenarioRunner) -> None:
    served = [(each, _filled(each.path, "[^/]+")) for each in described(opened.app.openapi())]

    for route in load_route_table():
        for action in route.actions if route.method else ():
            path = _filled(f"/api/v1{route.path.replace('{verb}', action.partition('.')[2])}", "x")
            fitting = [each for each, known in served if each.method == route.method and re.fullmatch(known, path)]
            assert fitting, path
            assert any(_takes(each, route) for each in fitting), (path, route.query, route.body)


def _takes(served: Described, sent: Route) -> bool:
    """Return whether a route has a field for everything that is sent.

    A route refuses unknown fields for every caller.
    """
    fields = resolved(served.body, served.document).get("properties", {}) if served.body else {}
    return sent.body.keys() <= fields.keys() and sent.query.keys() <= {
        each["name"] for each in served.parameters("query")
    }


def _filled(path: str, what: str) -> str:
    return re.sub(r"\{[^}]*\}", what, path)
