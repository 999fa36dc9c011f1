"""Checkpoints: loading returns the dumped snapshot with its indexes, and refuses any other bytes."""

import gc
import os
import subprocess
import sys
from dataclasses import fields
from hashlib import sha256
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.facts import changes as c
from headgate.facts.bulk_index import Facts, build_snapshot, facts_of
from headgate.facts.checkpoint import (
    _SHAPE,  # pyright: ignore[reportPrivateUsage] (the shape of written checkpoints)
    _SHAPE_SUM,  # pyright: ignore[reportPrivateUsage] (its checksum)
    CheckpointError,
    dump_checkpoint,
    load_checkpoint,
)
from headgate.facts.fold import fold
from headgate.facts.ids import ResourceId
from headgate.facts.record_schema import ListShape, MapShape, OptionalShape, RecordShape, ScalarShape, Shape
from headgate.facts.snapshot import Snapshot
from tests.facts.histories import BEGUN, few, histories
from tests.facts.samples import ROOT, SAMPLES

FACTS = fold(Snapshot(), SAMPLES, 7)
CONTENT = dump_checkpoint(FACTS)
_SRC = Path(__file__).parents[2]
_DUMP = """
import sys
from hashlib import sha256
from headgate.facts.checkpoint import dump_checkpoint
from headgate.facts.fold import fold
from headgate.facts.snapshot import Snapshot
from tests.facts.samples import SAMPLES
print(sha256(dump_checkpoint(fold(Snapshot(), SAMPLES, 7))).hexdigest())
"""


def test_a_checkpoint_has_the_same_bytes_as_existing_ones() -> None:
    assert sha256(CONTENT).hexdigest() == "36d417de56e5cb39eba1da77cc43c07b475a1053ff581c562008a1673f1071ae"


def test_a_checkpoint_shape_with_other_fields_needs_another_checksum() -> None:
    """A checkpoint has no field names: values that are read with another shape would get wrong meanings."""
    assert (hex(_SHAPE_SUM), crc32(_spelled(_SHAPE).encode())) == ("0x5e6c5f6e", 1584160622)


def _spelled(shape: Shape) -> str:
    match shape:
        case RecordShape(_, members):
            return f"{{{' '.join(f'{each.name}:{_spelled(each.shape)}' for each in members)}}}"
        case MapShape(key, value, build):
            return f"{build.__name__}<{_spelled(key)},{_spelled(value)}>"
        case ListShape(of, build):
            return f"{build.__name__}<{_spelled(of)}>"
        case OptionalShape(of):
            return f"{_spelled(of)}?"
        case ScalarShape(kind):
            return kind.__name__


class TestRoundTrip:
    @few
    @given(histories(), st.integers(min_value=0, max_value=2**40))
    def test_a_loaded_checkpoint_equals_the_snapshot_of_any_history(
        self, changes: list[c.Change], revision: int
    ) -> None:
        facts = fold(BEGUN, changes, revision)

        assert load_checkpoint(dump_checkpoint(facts)) == facts

    def test_a_loaded_checkpoint_has_every_kind_of_fact(self) -> None:
        assert load_checkpoint(CONTENT) == FACTS
        assert all(FACTS)

    def test_a_loaded_checkpoint_of_an_empty_snapshot_is_empty(self) -> None:
        assert load_checkpoint(dump_checkpoint(Snapshot())) == Snapshot()

    def test_a_loaded_checkpoint_has_text_with_any_characters(self) -> None:
        odd = ("", "\0", "é\n", "\U0001f512", "\ud800")
        facts = fold(FACTS, (c.CustomRoleDefined(each, (each,)) for each in odd), 8)

        assert load_checkpoint(dump_checkpoint(facts)) == facts

    def test_a_loaded_checkpoint_accepts_further_changes(self) -> None:
        more = (c.ResourceDeleted(ROOT), c.OrganizationCreated(ROOT, "nekt", "abc"))

        assert fold(load_checkpoint(CONTENT), more, 9) == fold(FACTS, more, 9)

    def test_a_checkpoint_has_the_same_bytes_in_every_process(self) -> None:
        command = [sys.executable, "-c", _DUMP]
        environment = {**os.environ, "PYTHONHASHSEED": "1"}
        other = subprocess.run(command, cwd=_SRC, env=environment, capture_output=True, text=True, check=True)

        assert other.stdout.strip() == sha256(CONTENT).hexdigest()

    def test_loading_a_checkpoint_leaves_the_garbage_collector_as_it_was(self) -> None:
        load_checkpoint(CONTENT)
        assert gc.isenabled()

        gc.disable()
        load_checkpoint(CONTENT)
        assert not gc.isenabled()
        gc.enable()

    def test_the_garbage_collector_does_not_track_a_loaded_snapshot(self) -> None:
        gc.unfreeze()

        loaded = load_checkpoint(CONTENT)

        assert gc.get_freeze_count() > len(loaded.resources)
        assert not any(each is loaded for each in gc.get_objects())


class TestRefusal:
    @given(st.integers(min_value=0, max_value=len(CONTENT) - 1), st.integers(min_value=1, max_value=255))
    def test_a_checkpoint_with_a_changed_byte_is_refused(self, at: int, change: int) -> None:
        damaged = CONTENT[:at] + bytes((CONTENT[at] ^ change,)) + CONTENT[at + 1 :]

        with pytest.raises(CheckpointError):
            load_checkpoint(damaged)

    @given(st.integers(min_value=0, max_value=len(CONTENT) - 1))
    def test_a_checkpoint_with_a_cut_off_end_is_refused(self, at: int) -> None:
        with pytest.raises(CheckpointError):
            load_checkpoint(CONTENT[:at])

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (
                b"",
                "was not written by Headgate; Headgate reads the whole log instead, which takes longer and loses nothing",
            ),
            (
                b"HEADGATE",
                "was not written by Headgate; Headgate reads the whole log instead, which takes longer and loses nothing",
            ),
            (
                b'{"format": "headgate facts"}',
                "was not written by Headgate; Headgate reads the whole log instead, which takes longer and loses nothing",
            ),
            (
                CONTENT[:8] + b"\x07" + CONTENT[9:],
                "another version of Headgate; Headgate reads the whole log instead, which takes longer and loses nothing",
            ),
            (
                CONTENT[:10] + b"else" + CONTENT[14:],
                "another version of Headgate; Headgate reads the whole log instead, which takes longer and loses nothing",
            ),
            (CONTENT + b"\0", "damaged; Headgate reads the whole log instead, which takes longer and loses nothing"),
        ],
        ids=[
            "nothing",
            "its first word only",
            "a facts file",
            "another version",
            "other facts",
            "more than was written",
        ],
    )
    def test_the_refusal_of_a_checkpoint_says_what_to_do(self, content: bytes, message: str) -> None:
        with pytest.raises(CheckpointError, match=message):
            load_checkpoint(content)


class TestAssembly:
    @few
    @given(histories())
    def test_a_built_snapshot_has_every_index_that_the_fold_maintains(self, changes: list[c.Change]) -> None:
        facts = fold(BEGUN, changes, 9)
        assignments = [each for place in facts.assignments_on for each in facts.list_assigned_on(ResourceId(place))]

        assert build_snapshot(facts_of(facts), assignments) == facts

    def test_bulk_facts_are_the_fields_of_a_snapshot_without_indexes_and_assignments(self) -> None:
        made = {"children", "referrers", "memberships", "actors_of", "assignments", "assignments_on"}

        assert {each.name for each in fields(Facts)} == set(Snapshot._fields) - made
