"""`headgate pipeline` and `headgate run`, against a server that has no worker."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headgate.cli.api import runs
from headgate.cli.client import ApiError
from headgate.cli.every_command import app
from headgate.control.kernel.run_queue import RunRow, RunUpdate
from headgate.facts.ids import ResourceId, RunId
from headgate.pipelines.writing.cached_rows import row_saver
from tests.app.deployment_harness import DeploymentHarness, world_in
from tests.fakes.runs import begin, end

QUERY = "kind: query\nname: delays\ninputs: [lake.raw.a]\ninto: lake.raw.b\nsql: SELECT 1\n"

Run = Callable[..., str]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentHarness]:
    with world_in(tmp_path_factory.mktemp("cli-runs")) as opened:
        opened.call("owner", "POST", "/databases", {"name": "raw"})
        opened.call("owner", "POST", "/resources", {"type": "table", "parent": "lake.raw", "name": "a"})
        yield opened


@pytest.fixture
def run(world: DeploymentHarness, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("HEADGATE_URL", str(world.http.base_url))
    monkeypatch.setenv("HEADGATE_TOKEN", world.tokens["owner"])
    monkeypatch.setenv("COLUMNS", "200")

    def headgate(*words: str, fails: bool = False) -> str:
        done = CliRunner().invoke(app, list(words))
        assert (done.exit_code != 0) is fails, (done.output, done.exception)
        return f"{done.output}{done.exception or ''}"

    return headgate


@pytest.fixture(scope="module")
def pipeline(world: DeploymentHarness) -> ResourceId:
    body: dict[str, Any] = {
        "kind": "query",
        "name": "delays",
        "mode": "append",
        "inputs": ["lake.raw.a"],
        "sql": "SELECT 1",
    }
    answer = world.call("owner", "PUT", "/pipelines/delays", {**body, "into": "lake.raw.b"})
    assert answer.status_code == 200, answer.text
    return ResourceId(answer.json()["id"])


def put(world: DeploymentHarness, run: str, pipeline: ResourceId, state: str, **more: Any) -> None:
    row = RunRow(RunId(run), pipeline, state, "manual", None, 1.0, 4e9, **more)
    world.deployment.home.store.put_run(RunUpdate(row, None))


def test_a_pipeline_is_saved_shown_switched_and_deleted(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "delays.yaml"
    file.write_text(QUERY.replace("delays", "other"))

    assert "pipeline other is saved (revision" in run("pipeline", "save", str(file))
    assert "sql: SELECT 1" in run("pipeline", "show", "other")
    assert "other" in run("pipeline", "list")
    run("pipeline", "deactivate", "other")
    assert "inactive" in run("pipeline", "list")
    assert "inactive and accepts no runs; activate or resume it first" in run("pipeline", "run", "other", fails=True)
    run("pipeline", "activate", "other")
    assert "clean_and_restart" in run("pipeline", "clean-and-restart", "other", fails=True)
    assert "other is deleted" in run("pipeline", "delete", "other")


def test_a_definition_is_checked_without_saving_and_its_rows_are_shown(
    run: Run, world: DeploymentHarness, tmp_path: Path
) -> None:
    file = tmp_path / "chart.yaml"
    chart = "chart: {type: bar, x: a, y: b}\n"
    file.write_text("kind: visualization\nname: drawn\ninputs: [lake.raw.a]\nsql: SELECT 1\n" + chart)

    assert "drawn can be saved" in run("pipeline", "check", str(file))
    assert "drawn" not in run("pipeline", "list")
    run("pipeline", "save", str(file))
    id = world.call("owner", "GET", "/pipelines/drawn").json()["id"]
    rows = {"columns": [["a", "string"], ["b", "int"]], "rows": [["x", 3]], "cut": True}
    row_saver(world.deployment.home.control, world.deployment.home.store, RunId("run_1"), id)(rows)
    assert [line.split() for line in run("pipeline", "show-rows", "drawn").splitlines()][:2] == [["a", "b"], ["x", "3"]]


def test_a_run_is_queued_and_followed_to_its_end(run: Run, world: DeploymentHarness, pipeline: ResourceId) -> None:
    assert "is queued" in run("pipeline", "run", "delays", "--detach")
    id = run("run", "list", "--pipeline", "delays").splitlines()[1].split()[0]
    store, control = world.deployment.home.store, world.deployment.home.control
    begin(control, store, RunId(id), pipeline)
    store.append_log_lines(RunId(id), 1.0, [f"line {number}" for number in range(1, 1202)])
    end(control, store, RunId(id), "failed", "the file is torn")

    assert "line 1201" in run("run", "show-log", id)
    told = run("run", "show-log", "--follow", id, fails=True)
    assert "line 1201" in told
    assert "failed: the file is torn" in told
    assert "the file is torn" in run("run", "show", id)
    assert "is queued" in run("run", "retry", "--detach", id)


def test_a_dry_run_of_a_backfill_shows_its_runs_and_queues_none(
    run: Run, pipeline: ResourceId, world: DeploymentHarness
) -> None:
    before = len(world.call("owner", "GET", "/runs").json()["items"])

    told = run("pipeline", "backfill", "delays", "--since", "1", "--until", "4", "--step", "2", "--dry-run")

    assert [line.split() for line in told.splitlines()[1:]] == [["would", "run", "1", "3"], ["would", "run", "3", "4"]]
    assert len(world.call("owner", "GET", "/runs", pipeline=pipeline).json()["items"]) <= before


def test_a_queued_run_is_cancelled_once(run: Run, world: DeploymentHarness, pipeline: ResourceId) -> None:
    put(world, "waits", pipeline, "queued", why="its run-as principal is gone")

    assert "its run-as principal is gone" in run("run", "list", "--state", "queued")
    assert "waits is cancelled" in run("run", "cancel", "waits")
    assert "has ended already, in the state cancelled" in run("run", "cancel", "waits", fails=True)


class TestLeaving:
    @pytest.fixture(autouse=True)
    def interrupted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def follow(*_: Any) -> dict[str, Any]:
            raise KeyboardInterrupt

        monkeypatch.setattr(runs, "follow", follow)

    def test_an_interruption_without_a_terminal_leaves_the_run_active(
        self, run: Run, world: DeploymentHarness, pipeline: ResourceId
    ) -> None:
        put(world, "alone", pipeline, "queued")

        assert "the run continues" in run("run", "show-log", "--follow", "alone")
        assert world.call("owner", "GET", "/runs/alone").json()["state"] == "queued"

    @pytest.mark.parametrize(("answer", "state"), [(True, "cancelled"), (False, "queued")])
    def test_an_interruption_at_a_terminal_asks_whether_to_cancel_the_run(
        self,
        run: Run,
        world: DeploymentHarness,
        pipeline: ResourceId,
        monkeypatch: pytest.MonkeyPatch,
        answer: bool,  # noqa: FBT001
        state: str,
    ) -> None:
        put(world, f"asked-{answer}", pipeline, "queued")
        monkeypatch.setattr(runs.sys, "stdin", _Terminal())
        monkeypatch.setattr(runs.typer, "confirm", lambda _: answer)

        runs.attend(f"asked-{answer}")

        assert world.call("owner", "GET", f"/runs/asked-{answer}").json()["state"] == state


class _Terminal:
    def isatty(self) -> bool:
        return True


def test_a_run_that_was_refused_ends_with_its_reason(
    run: Run,  # noqa: ARG001 (sets who calls)
    world: DeploymentHarness,
    pipeline: ResourceId,
) -> None:
    put(world, "refused", pipeline, "refused", why="the run-as principal of the pipeline may not")

    with pytest.raises(ApiError, match="was refused: the run-as principal of the pipeline may not"):
        runs.attend("refused")
