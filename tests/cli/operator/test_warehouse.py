"""`headgate warehouse move`, as an operator runs it."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headgate.cli.every_command import app
from headgate.lake import warehouse
from tests.app.deployment_harness import world_in

SCHEMA = {"type": "struct", "fields": [{"id": 1, "name": "n", "type": "long", "required": False}]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with two tables that an earlier version made."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warehouse, "organization_root", lambda root, _: root)
        with world_in(tmp_path) as world:
            known = {"authorization": f"Bearer {world.tokens['owner']}"}
            for name in ("one", "two"):
                body = {"name": name, "schema": SCHEMA}
                answer = world.http.post("/iceberg/v1/namespaces/raw/tables", json=body, headers=known)
                assert answer.status_code == 200, answer.text
    return tmp_path / "data"


def run(folder: Path, *more: str) -> Result:
    arguments = ["warehouse", "move", "--data", str(folder), *more]
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "400", "HEADGATE_SPARK": "0"})


def test_a_dry_run_shows_the_tables_and_moves_none(folder: Path) -> None:
    shown = run(folder, "--dry-run")

    assert shown.exit_code == 0, shown.output
    assert "lake.raw.one" in shown.output
    assert "2 would be moved, 0 were not" in shown.output
    assert not (folder / "warehouse" / "organization").exists()


def test_tables_are_moved_once(folder: Path) -> None:
    first, second = run(folder), run(folder)

    assert (first.exit_code, second.exit_code) == (0, 0)
    assert "2 were moved, 0 were not" in first.output
    assert "every table is in its organization's folder; there is nothing to move" in second.output
    assert [each.name for each in (folder / "warehouse").iterdir() if any(each.rglob("*.json"))] == ["organization"]


def test_a_table_without_files_is_reported_and_the_others_are_moved(folder: Path) -> None:
    gone = next((folder / "warehouse").rglob("*.metadata.json"))
    gone.unlink()

    result = run(folder)

    assert result.exit_code == 1
    assert "1 were moved, 1 were not" in result.output
    assert re.search(r"not moved: the table's file `\S+` cannot be read \(No such file or directory\)", result.output)
