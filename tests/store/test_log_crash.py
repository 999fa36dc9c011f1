"""Durability after `kill -9` at any moment: every acknowledged entry is stored, and no entry is stored in part."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headgate.facts.ids import ResourceId
from headgate.store import open_stores
from tests.store.samples import ROOT, created

REPOSITORY = Path(__file__).parents[2]
APPENDER = [sys.executable, "-m", "tests.store.appender"]


def _append_until_killed(where: str | Path, seconds: float) -> int:
    """Return the last revision that the process acknowledged before it was killed."""
    with subprocess.Popen([*APPENDER, str(where)], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(seconds)
        process.kill()
        lines = (first + process.stdout.read()).split("\n")
    return int(lines[-2])


def _check_whole(where: str | Path, acknowledged: int) -> None:
    stores = open_stores(where)
    store = stores.log(ROOT)
    store.verify()
    entries = list(store.entries())
    assert len(entries) >= acknowledged
    assert len(entries) % 2 == 0  # the two entries of a transaction are both stored, or neither
    for entry in entries:
        draft = created(entry.revision)
        assert entry.changes == draft.changes
        assert store.pointer(draft.pointers[0].table) == draft.pointers[0]
        assert store.document("table", draft.documents[0].id) == draft.documents[0].body
    beyond = ResourceId(f"t{len(entries) + 1}")
    assert store.pointer(beyond) is None
    assert store.document("table", beyond) is None
    stores.close()


@pytest.mark.parametrize("seed", [1, 2])
def test_a_killed_writer_loses_no_acknowledged_entry_and_leaves_no_partial_one(lasting: str | Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - a seeded generator, not for cryptography
    for _ in range(2):
        acknowledged = _append_until_killed(lasting, chance.uniform(0.0, 0.15))
        _check_whole(lasting, acknowledged)
