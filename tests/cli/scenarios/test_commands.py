"""`headgate model test`: the last line is the count, and the exit code says whether every case passed."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headgate.cli.every_command import app

CASE = {
    "id": "OWN-1",
    "system": "nekt",
    "given": [{"grant": {"to": "m", "role": "viewer", "on": "L"}}],
    "ask": {"actor": "m", "action": "see", "resource": "L", "with": {}},
    "expect": "allow",
    "note": "A viewer sees the layer.",
    "source": "MODELS 1.2",
}

WORLD = """
users: [{id: m, org_role: member}]
groups: []
principals: []
grants: []
resources:
  - {id: w, type: workspace, parent: null}
  - {id: L, type: layer, parent: w}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "worlds").mkdir()
    (tmp_path / "cases").mkdir()
    (tmp_path / "worlds" / "nekt.yaml").write_text(WORLD)
    return tmp_path


def after(folder: Path, *cases: object, options: tuple[str, ...] = ()) -> tuple[int, list[str]]:
    """Run the command on these cases: its exit code, and the lines that it printed."""
    (folder / "cases" / "nekt.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    done = CliRunner().invoke(app, ["model", "test", str(folder), "--engine", "reference", *options])
    return done.exit_code, done.output.splitlines()


class TestTheCommand:
    def test_model_test_ends_with_the_count_and_succeeds_if_all_cases_pass(self, folder: Path) -> None:
        code, lines = after(folder, CASE, {**CASE, "id": "OWN-2"})

        assert (code, lines[-1]) == (0, "2 passed, 0 failed")

    def test_model_test_fails_if_a_case_fails_and_explains_the_difference(self, folder: Path) -> None:
        code, lines = after(folder, CASE, {**CASE, "id": "OWN-2", "given": []})

        assert (code, lines[-1]) == (1, "1 passed, 1 failed")
        assert lines[0] == "OWN-2: expected allow, the answer is deny"
        assert "`viewer` or `editor`" in lines[1]
        assert lines[2] == "  A viewer sees the layer."

    def test_a_case_with_an_unknown_step_counts_as_failed(self, folder: Path) -> None:
        code, lines = after(folder, {**CASE, "given": [{"bless": {"user": "m"}}]})

        assert (code, lines[-1]) == (1, "0 passed, 1 failed")
        assert lines[0] == "OWN-1: expected allow, the answer is no answer"

    def test_model_test_runs_a_single_case_and_explains_why_it_passes(self, folder: Path) -> None:
        code, lines = after(folder, CASE, {**CASE, "id": "OWN-2"}, options=("--only", "OWN-1"))

        assert (code, lines[-1]) == (0, "1 passed, 0 failed")
        assert lines[1] == "  `database.describe` on `L` is allowed: `m` has `viewer` on `L`"

    def test_a_missing_case_is_reported(self, folder: Path) -> None:
        code, lines = after(folder, CASE, options=("--only", "OWN-9"))

        assert code == 1
        assert lines == [f"headgate: there is no case with the id `OWN-9` in {folder}; correct the id"]

    def test_an_invalid_folder_is_reported_in_one_sentence(self, folder: Path) -> None:
        (folder / "worlds" / "nekt.yaml").write_text("users: [")

        code, lines = after(folder, CASE)

        assert code == 1
        assert lines[0].startswith("headgate: ")


DENIED = {**CASE, "given": [], "expect": "deny"}
SLIP = {**DENIED, "id": "OWN-2", "ask": {"actor": "m", "action": "add_stream", "resource": "L", "with": {}}}


class TestDenials:
    def engine(self, folder: Path, *cases: object, options: tuple[str, ...] = ()) -> list[str]:
        (folder / "cases" / "nekt.jsonl").write_text("\n" + "".join(json.dumps(case) + "\n" for case in cases))
        return CliRunner().invoke(app, ["model", "test", str(folder), *options]).output.splitlines()

    def test_a_denial_that_a_small_change_flips_is_not_reported(self, folder: Path) -> None:
        assert self.engine(folder, DENIED)[-1] == "1 passed, 0 failed"
        assert "denials" not in " ".join(self.engine(folder, DENIED))

    def test_denials_that_no_small_change_flips_are_counted(self, folder: Path) -> None:
        assert self.engine(folder, DENIED, SLIP)[-2:] == [
            "denials that no small change of the world turns into an allow: 1; list them with `--denials`",
            "2 passed, 0 failed",
        ]

    def test_denials_that_no_small_change_flips_are_listed_with_their_lines(self, folder: Path) -> None:
        lines = self.engine(folder, DENIED, SLIP, options=("--denials",))

        assert lines[-3:] == [
            f"{folder}/cases/nekt.jsonl:3: warning: OWN-2: no small change of the world turns this denial into an allow",
            "denials that no small change of the world turns into an allow: 1",
            "2 passed, 0 failed",
        ]
