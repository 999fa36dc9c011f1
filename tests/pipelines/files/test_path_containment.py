"""Files opened below a folder: with one call of the kernel, or component by component where the kernel cannot do it."""

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from headgate.pipelines.files import path_containment
from headgate.pipelines.files.path_containment import READ, open_beneath, open_folder


@pytest.fixture(params=[True, False], ids=["openat2", "by parts"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Return an open folder with a file, a folder and links, for both ways of opening."""
    if request.param and not path_containment._HAS_OPENAT2:
        pytest.skip("this kernel has no openat2, or does not allow it here")
    monkeypatch.setattr(path_containment, "_HAS_OPENAT2", request.param)
    top = tmp_path / "top"
    (top / "deep").mkdir(parents=True)
    for file in (top / "a", top / "deep" / "b", tmp_path / "secret"):
        file.write_text(file.name)
    (top / "link").symlink_to("a")
    (top / "out").symlink_to(tmp_path)
    (top / "magic").symlink_to("/proc/self/root")
    with open_folder(tmp_path, PurePosixPath("top")) as opened:
        yield opened


def read(folder: int, path: str) -> str:
    found = open_beneath(folder, PurePosixPath(path), READ)
    with os.fdopen(found) as file:
        return file.read()


@pytest.mark.parametrize(("path", "text"), [("a", "a"), ("deep/b", "b"), ("./deep/./b", "b")])
def test_a_file_below_the_folder_is_opened(folder: int, path: str, text: str) -> None:
    assert read(folder, path) == text


@pytest.mark.parametrize(
    "path",
    ["link", "out/secret", "out", "magic/etc/passwd", "../secret", "deep/../../secret", "/etc/passwd", "missing"],
)
def test_a_link_or_a_path_out_of_the_folder_is_not_opened(folder: int, path: str) -> None:
    with pytest.raises(OSError, match=r"symbolic link|Not a directory|out of its folder|No such file"):
        read(folder, path)


def test_a_new_file_is_created_below_the_folder_and_replaces_no_link(folder: int) -> None:
    os.close(open_beneath(folder, PurePosixPath("deep/new"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))

    assert read(folder, "deep/new") == ""
    with pytest.raises(FileExistsError):
        open_beneath(folder, PurePosixPath("link"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def test_a_folder_that_is_a_link_below_its_root_is_not_opened(folder: int, tmp_path: Path) -> None:
    assert os.fstat(folder)
    with (
        pytest.raises(OSError, match=r"symbolic link|Not a directory"),
        open_folder(tmp_path, PurePosixPath("top/out")),
    ):
        pass
