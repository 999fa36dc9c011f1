"""Files that crash the process that reads a table for a move, or exhaust its memory: the table stays, and the move continues."""

import io
import json
import os
import resource
from pathlib import Path

import pytest

from headgate.lake import relocation_process
from headgate.lake.errors import RuleError
from headgate.lake.relocated_files import relocate_files
from headgate.lake.relocation import Relocation
from headgate.lake.relocation_process import files_of_answer, read_relocated
from headgate.untrusted_input.limits import MEBIBYTE
from tests.lake.hostile_manifest_lists import crashing, empty, filling

MOVE = Relocation("file:///w/old", "file:///w/new")


def table_of(folder: Path, manifest_list: bytes) -> tuple[Relocation, str]:
    """Create a table with one snapshot with this manifest list; return its relocation, and its metadata file."""
    old = f"file://{folder}/old"
    (folder / "old/metadata").mkdir(parents=True)
    (folder / "old/metadata/list.avro").write_bytes(manifest_list)
    told = {"location": old, "snapshots": [{"manifest-list": f"{old}/metadata/list.avro"}]}
    (folder / "old/metadata/0.metadata.json").write_text(json.dumps(told), encoding="utf-8")
    return Relocation(old, f"file://{folder}/new"), f"{old}/metadata/0.metadata.json"


def test_the_files_of_a_table_are_read(tmp_path: Path) -> None:
    relocation, metadata = table_of(tmp_path, empty())

    found = read_relocated(relocation, metadata)

    assert sorted(found) == [f"{relocation.new}/metadata/0.metadata.json", f"{relocation.new}/metadata/list.avro"]
    assert json.loads(found[f"{relocation.new}/metadata/0.metadata.json"])["location"] == relocation.new


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"Obj\x01", b"[" * 100_000])
def test_the_refusal_of_a_metadata_file_that_is_not_json_names_the_file(tmp_path: Path, content: bytes) -> None:
    relocation, metadata = table_of(tmp_path, empty())
    (tmp_path / "old/metadata/0.metadata.json").write_bytes(content)

    with pytest.raises(RuleError, match=r"`0\.metadata\.json` of the table is not a JSON object"):
        read_relocated(relocation, metadata)


def test_a_file_that_a_table_names_many_times_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    relocation, metadata = table_of(tmp_path, empty())
    (tmp_path / "old/metadata/1.metadata.json").write_text("{}", encoding="utf-8")
    names = ["0.metadata.json"] * 100 + [f"{'/' * at}1.metadata.json" for at in range(100)]
    log = [{"metadata-file": f"{relocation.old}/metadata/{name}"} for name in names]
    lists = [{"manifest-list": f"{relocation.old}/metadata/{'/' * at}list.avro"} for at in range(100)]
    told = {"location": relocation.old, "metadata-log": log, "snapshots": lists}
    (tmp_path / "old/metadata/0.metadata.json").write_text(json.dumps(told), encoding="utf-8")
    opened, open_file = list[str](), os.open
    monkeypatch.setattr("os.open", lambda path, flags: opened.append(Path(path).name) or open_file(path, flags))

    relocate_files(relocation, metadata)

    assert sorted(opened) == ["0.metadata.json", "1.metadata.json", "list.avro"]


def test_a_pipe_among_the_files_of_a_table_is_refused(tmp_path: Path) -> None:
    relocation, metadata = table_of(tmp_path, empty())
    (tmp_path / "old/metadata/0.metadata.json").unlink()
    os.mkfifo(tmp_path / "old/metadata/0.metadata.json")

    with pytest.raises(RuleError, match="not a regular file"):
        read_relocated(relocation, metadata)


def test_the_refusal_of_a_file_that_cannot_be_read_names_the_file(tmp_path: Path) -> None:
    relocation, metadata = table_of(tmp_path, empty())
    (tmp_path / "old/metadata/0.metadata.json").unlink()

    with pytest.raises(RuleError, match=r"the table's file `0\.metadata\.json` cannot be read \(No such file"):
        read_relocated(relocation, metadata)


def test_a_file_that_fills_the_memory_of_the_reader_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relocation_process, "_MEMORY_BYTES", 256 * MEBIBYTE)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    with pytest.raises(RuleError, match=r"cannot be read|has ended"):
        read_relocated(*table_of(tmp_path, filling()))

    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024


def test_the_end_of_the_reader_is_reported(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="the table's files could not be read"):
        read_relocated(*table_of(tmp_path, crashing()))


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"x\n",
        b'{"files": [["file:///w/new/a", 2]]}\nx',
        b'{"files": [["file:///w/new/a", -1]]}\nx',
        b'{"files": [["file:///w/old/a", 1]]}\nx',
        b'{"files": [["/etc/passwd", 1]]}\nx',
        b'{"files": [["file:///w/new/../a", 1]]}\nx',
    ],
)
def test_an_invalid_answer_of_the_reader_is_refused(answer: bytes) -> None:
    with pytest.raises(RuleError, match="could not be read"):
        files_of_answer(io.BytesIO(answer), MOVE)


def test_an_answer_of_the_reader_gives_the_files_of_the_new_location() -> None:
    answer = b'{"files": [["file:///w/new/a", 1], ["file:///w/new/b", 2]]}\nxyz'

    assert files_of_answer(io.BytesIO(answer), MOVE) == {"file:///w/new/a": b"x", "file:///w/new/b": b"yz"}
