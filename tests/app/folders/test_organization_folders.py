"""The removal of an organization's folders while a stopping driver still uses them."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pytest

from headgate.app.folders.organization_folders import OrganizationFolders
from headgate.facts.ids import ResourceId
from tests.threads import call_at_once

ID = ResourceId("o_0123")


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch" / ID / "driver"
    folder.mkdir(parents=True)
    return folder


def test_folders_are_removed_while_another_process_deletes_their_files(tmp_path: Path, scratch: Path) -> None:
    files = create_files(scratch, 600)

    call_at_once([lambda: delete_files(reversed(files)), OrganizationFolders(tmp_path, ID).remove])

    assert not (tmp_path / "scratch" / ID).exists()


def test_folders_are_removed_while_another_process_writes_files(tmp_path: Path, scratch: Path) -> None:
    create_files(scratch, 300)

    def write() -> None:
        with suppress(FileNotFoundError):
            for number in range(300):
                (scratch / f"new{number}").touch()

    call_at_once([write, OrganizationFolders(tmp_path, ID).remove])

    assert not (tmp_path / "scratch" / ID).exists()


def test_folders_are_measured_while_another_process_deletes_their_files(tmp_path: Path, scratch: Path) -> None:
    (scratch / "kept").write_bytes(b"12345")
    files = create_files(scratch, 600)
    sizes = list[int]()

    call_at_once([lambda: delete_files(files), lambda: sizes.append(OrganizationFolders(tmp_path, ID).bytes())])

    assert sizes == [5]


def test_the_target_of_a_link_is_not_removed(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.mkdir()
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch" / ID).symlink_to(target)

    OrganizationFolders(tmp_path, ID).remove()

    assert target.exists()


def create_files(folder: Path, count: int) -> list[Path]:
    files = [folder / f"{number}" for number in range(count)]
    for each in files:
        each.touch()
    return files


def delete_files(files: Iterable[Path]) -> None:
    for each in files:
        each.unlink(missing_ok=True)
