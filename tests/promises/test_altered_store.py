"""A server that starts on a database which was altered without the server's keys: it trusts no altered entry."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headgate.app.deployment import open_deployment
from headgate.cli.every_command import app
from headgate.control.access.assignments import AssignRole
from headgate.facts import checkpoint
from headgate.facts.fold import fold
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.facts.snapshot import Snapshot
from tests.app.deployment_harness import settings_in, world_in
from tests.store.tampered_store import rehash


@dataclass(frozen=True)
class Left:
    """The store of a stopped server: a member, the facts, and forged facts that would make the member an owner."""

    folder: Path
    organization: ResourceId
    eve: PrincipalId
    facts: Snapshot
    forged: Snapshot

    def verify(self) -> Result:
        return CliRunner().invoke(app, ["log", "verify", "--data", str(self.folder / "data")])

    def run(self, statement: str, *values: object) -> None:
        """Run a statement on the database."""
        with closing(sqlite3.connect(self.folder / "data" / "headgate.db")) as database, database:
            database.execute(statement, values)


PROMOTE = 'UPDATE log SET changes = replace(changes, \'"role":"member"\', \'"role":"owner"\') WHERE log_id = ?'


@pytest.fixture
def left(tmp_path: Path) -> Left:
    with world_in(tmp_path) as world:
        eve, control, root = world.add("eve"), world.control, world.opened.id
        plan = control.preview(AssignRole(eve, "owner", root), None)
        facts = control.snapshot
        return Left(tmp_path, root, eve, facts, fold(facts, plan.changes, facts.revision))


def test_a_forged_checkpoint_gives_no_rights_after_a_restart(left: Left) -> None:
    left.run(
        "INSERT INTO checkpoints VALUES (?, ?, 1.0, ?)",
        left.organization,
        left.facts.revision,
        checkpoint.dump_checkpoint(left.forged),
    )

    with closing(open_deployment(settings_in(left.folder))) as deployment:
        assert deployment.home.control.snapshot == left.facts


def test_an_altered_entry_is_not_believed_after_a_restart(left: Left) -> None:
    left.run(
        'UPDATE log SET changes = replace(changes, \'"role":"member"\', \'"role":"owner"\') WHERE log_id = ?',
        left.organization,
    )

    with pytest.raises(Exception, match="was altered; restore a backup"):
        open_deployment(settings_in(left.folder))


def test_a_forged_history_is_not_sealed_by_a_restart(left: Left) -> None:
    """The attacker deleted the seals, and the hashes are valid: only the mark beside the key reveals the forgery."""
    left.run("DELETE FROM seals WHERE log_id = ?", left.organization)
    left.run(PROMOTE, left.organization)
    rehash(left.folder / "data", left.organization)

    open_deployment(settings_in(left.folder)).close()

    result = left.verify()
    assert result.exit_code == 1
    assert "the log `organization` differs from the log that this deployment sealed" in result.stderr
