"""The tool that writes the archive of a release refuses to overwrite, deletes its folder, and packs what a later version needs."""

import io
import json
import tarfile
from pathlib import Path

import pytest

from headgate.control.kernel.vocabulary import shipped_vocabulary
from tools.release import project_version
from tools.released_data import main, pack


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the tool uses in place of `/tmp`."""
    folder = tmp_path / "parent"
    folder.mkdir()
    monkeypatch.setattr("tools.released_data.PARENT", folder)
    return folder


def names_of(archive: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        return opened.getnames()


def test_an_existing_archive_of_the_current_version_is_refused_by_its_path(tmp_path: Path, parent: Path) -> None:
    archive = tmp_path / f"{project_version()}.tar.gz"
    archive.write_bytes(b"released")

    with pytest.raises(SystemExit, match=f"`{archive}` exists"):
        main(["--into", str(tmp_path)])

    assert archive.read_bytes() == b"released"
    assert list(parent.iterdir()) == []


def test_an_existing_data_folder_is_refused_and_kept(tmp_path: Path, parent: Path) -> None:
    folder = parent / "headgate-1.0.0"
    folder.mkdir()

    with pytest.raises(SystemExit, match=f"`{folder}` exists"):
        main(["1.0.0", "--into", str(tmp_path)])

    assert folder.is_dir()
    assert not (tmp_path / "1.0.0.tar.gz").exists()


@pytest.mark.parametrize(
    ("version", "into", "fault"), [("../x", ".", "is not a version"), ("1.0.0", "missing", "there is no folder")]
)
def test_an_invalid_version_and_a_missing_folder_are_refused(
    tmp_path: Path, version: str, into: str, fault: str
) -> None:
    with pytest.raises(SystemExit, match=fault):
        main([version, "--into", str(tmp_path / into)])


def test_an_archive_has_the_answers_and_an_export_of_each_organization(
    tmp_path: Path, parent: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tools.released_data.run_on_spark", lambda *_: None)

    assert main(["1.0.0", "--into", str(tmp_path)]) == 0

    with tarfile.open(tmp_path / "1.0.0.tar.gz") as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    folder = tmp_path / "unpacked" / "headgate-1.0.0"
    said = json.loads((folder / "answers.json").read_text(encoding="utf-8"))["organizations"].values()
    assert sorted(each.name for each in folder.iterdir()) == sorted(
        ["answers.json", "data", *(f"{each['name']}.jsonl" for each in said)]
    )
    assert [each["name"] for each in said] == ["main", *(f"acme-{model}" for model in shipped_vocabulary().models)]
    assert min(sum(allowed for *_, allowed in each["decisions"]) for each in said) > 5
    assert f"writing `{tmp_path / '1.0.0.tar.gz'}`" in capsys.readouterr().err
    assert list(parent.iterdir()) == []


def test_a_failure_leaves_no_archive_and_no_data_folder(
    tmp_path: Path, parent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(folder: Path) -> None:
        (folder / "data").mkdir()
        raise OSError("the disk is full")

    monkeypatch.setattr("tools.released_data.write_data", fail)

    with pytest.raises(OSError, match="the disk is full"):
        main(["1.0.0", "--into", str(tmp_path)])

    assert list(tmp_path.rglob("*")) == [parent]


def test_a_packed_folder_has_sorted_files_without_owner_and_without_files_of_the_server(tmp_path: Path) -> None:
    folder, again = tmp_path / "headgate-1.0.0", tmp_path / "again" / "headgate-1.0.0"
    for name in ("data/keys/log.pem", "data/logs/driver.log", "data/lock", "cache/x.jar", "answers.json"):
        for root in (folder, again):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(name, encoding="utf-8")

    packed = pack(folder)

    assert packed == pack(again)
    names = ["", "/answers.json", "/data", "/data/keys", "/data/keys/log.pem"]
    assert names_of(packed) == [f"headgate-1.0.0{name}" for name in names]
    with tarfile.open(fileobj=io.BytesIO(packed)) as opened:
        assert {(each.uid, each.gid, each.mtime) for each in opened} == {(0, 0, 0)}
