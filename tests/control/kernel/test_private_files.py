"""Files that only the user of the process can read."""

import stat
from pathlib import Path

import pytest

from headgate.control.kernel.private_files import create_private_file, replace_private_file


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("write", [create_private_file, replace_private_file])
def test_a_private_file_and_its_new_folder_are_closed_to_other_users(tmp_path: Path, write: object) -> None:
    file = tmp_path / "keys" / "a.key"

    assert callable(write)
    write(file, b"secret")

    assert (mode_of(file), mode_of(file.parent), file.read_bytes()) == (0o600, 0o700, b"secret")
    assert list(file.parent.iterdir()) == [file]


def test_a_private_file_that_exists_is_kept_when_it_is_created_again(tmp_path: Path) -> None:
    file = tmp_path / "a.key"

    assert (create_private_file(file, b"first"), create_private_file(file, b"second")) == (True, False)

    assert file.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [file]


def test_a_replaced_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    file = tmp_path / "a.key"
    file.write_bytes(b"old")
    file.chmod(0o644)

    replace_private_file(file, b"new")

    assert (mode_of(file), file.read_bytes()) == (0o600, b"new")


def test_a_file_that_cannot_be_written_keeps_its_content(tmp_path: Path) -> None:
    folder = tmp_path / "a.key"
    folder.mkdir()
    (folder / "kept").write_bytes(b"old")

    with pytest.raises(OSError, match=r"a\.key"):
        replace_private_file(folder, b"new")

    assert [each.name for each in tmp_path.iterdir()] == ["a.key"]
    assert (folder / "kept").read_bytes() == b"old"
