"""The removal of an organization's folders while a driver that is ending uses them."""

import threading
from contextlib import suppress
from pathlib import Path

import pytest

from headgate.app.organization_folders import OrganizationFolders
from headgate.facts.ids import ResourceId

ID = ResourceId("o_0123")


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch" / ID / "driver"
    folder.mkdir(parents=True)
    return folder


def test_removes_the_folders_from_which_another_process_deletes_files(tmp_path: Path, scratch: Path) -> None:
    files = [scratch / f"{number}" for number in range(600)]
    for each in files:
        each.touch()

    def delete() -> None:
        for each in reversed(files):
            each.unlink(missing_ok=True)

    other = threading.Thread(target=delete)
    other.start()
    OrganizationFolders(tmp_path, ID).remove()
    other.join()

    assert not (tmp_path / "scratch" / ID).exists()


def test_removes_the_folders_in_which_another_process_still_writes(tmp_path: Path, scratch: Path) -> None:
    for number in range(300):
        (scratch / f"old{number}").touch()

    def write() -> None:
        with suppress(FileNotFoundError):
            for number in range(300):
                (scratch / f"new{number}").touch()

    other = threading.Thread(target=write)
    other.start()
    OrganizationFolders(tmp_path, ID).remove()
    other.join()

    assert not (tmp_path / "scratch" / ID).exists()


def test_measures_the_folders_from_which_another_process_deletes_files(tmp_path: Path, scratch: Path) -> None:
    (scratch / "kept").write_bytes(b"12345")
    files = [scratch / f"{number}" for number in range(600)]
    for each in files:
        each.touch()

    def delete() -> None:
        for each in files:
            each.unlink()

    other = threading.Thread(target=delete)
    other.start()
    size = OrganizationFolders(tmp_path, ID).bytes()
    other.join()

    assert size == 5


def test_leaves_the_target_of_a_link_alone(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.mkdir()
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch" / ID).symlink_to(target)

    OrganizationFolders(tmp_path, ID).remove()

    assert target.exists()
