"""Copies from a connection's folder into a run's folder: by file descriptors, so that no path can be swapped during the copy."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import pytest

from headgate.pipelines.connections.egress import AllowedFolder
from headgate.pipelines.connections.server_files import ServerFiles
from headgate.pipelines.files import disk_space, folder_copy
from headgate.pipelines.files.file_limits import Bound
from headgate.pipelines.files.folder_copy import list_files
from headgate.pipelines.files.path_containment import open_folder
from headgate.pipelines.load_errors import EndedError, LoadError
from headgate.pipelines.loading.connected_files import stage_files
from headgate.pipelines.loading.streams import FileStream


class Connected:
    """An egress root with a connection's folder in it, a secret file beside the root, and the folder of a run."""

    def __init__(self, folder: Path) -> None:
        self.root, self.secret, self.goal = folder / "root", folder / "secret.csv", folder / "staged"
        self.folder = self.root / "acme"
        self.folder.mkdir(parents=True)
        self.secret.write_text("secret")
        self.own: tuple[Path, ...] = ()
        self.bound: Bound = lambda *_: None

    def stage(self, where: Mapping[str, str], has_to_end: Callable[[], bool] = lambda: False) -> dict[str, str]:
        stream = FileStream.model_validate({"name": "s", "into": "lake.raw.s", **where})
        allowed = AllowedFolder(self.root, PurePosixPath("acme"), ServerFiles(self.own))
        stage_files(stream, allowed, self.goal, self.bound, has_to_end)
        return {each.name: each.read_text() for each in self.goal.iterdir()}


@pytest.fixture
def connected(tmp_path: Path) -> Connected:
    return Connected(tmp_path)


class TestAStream:
    def test_a_stream_gets_the_files_of_its_name_or_prefix(self, connected: Connected) -> None:
        (connected.folder / "a.csv").write_text("a")
        (connected.folder / "b.csv").write_text("b")

        assert connected.stage({"file": "a.csv"}) == {"a.csv": "a"}
        assert connected.stage({"prefix": "b"}) == {"b.csv": "b"}

    def test_a_stream_skips_hidden_and_temporary_files_of_its_folder(self, connected: Connected) -> None:
        (connected.folder / "d").mkdir()
        for name in ("a.csv", "b.csv", "_c.csv", ".d.csv"):
            (connected.folder / "d" / name).write_text(name)

        assert connected.stage({"file": "d"}) == {"a.csv": "a.csv", "b.csv": "b.csv"}

    def test_a_stream_ignores_a_link_with_another_name(self, connected: Connected) -> None:
        (connected.folder / "a.csv").write_text("a")
        (connected.folder / "b.csv").symlink_to(connected.secret)

        assert connected.stage({"prefix": "a"}) == {"a.csv": "a"}

    @pytest.mark.parametrize("where", [{"file": "none.csv"}, {"prefix": "none"}])
    def test_a_stream_without_a_file_is_refused(self, connected: Connected, where: dict[str, str]) -> None:
        with pytest.raises(LoadError, match="there is no file"):
            connected.stage(where)

    @pytest.mark.parametrize("where", [{"file": "a.csv"}, {"prefix": "a"}, {"file": "d"}], ids=str)
    def test_a_stream_does_not_follow_a_link(self, connected: Connected, where: dict[str, str]) -> None:
        (connected.folder / "a.csv").symlink_to(connected.secret)
        (connected.folder / "d").symlink_to(connected.secret.parent)

        with pytest.raises(LoadError, match="link"):
            connected.stage(where)

    def test_a_file_that_is_replaced_by_a_link_after_the_listing_is_not_staged(
        self, connected: Connected, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = connected.folder / "a.csv"
        file.write_text("a")
        listed = folder_copy.list_files

        def list_and_swap(folder: int) -> object:
            found = listed(folder)
            file.unlink()
            file.symlink_to(connected.secret)
            return found

        monkeypatch.setattr("headgate.pipelines.loading.connected_files.list_files", list_and_swap)

        with pytest.raises(LoadError, match="link"):
            connected.stage({"prefix": "a"})
        assert not any(each.read_text() == "secret" for each in connected.goal.iterdir())

    def test_a_stream_with_a_folder_that_was_replaced_by_a_link_gets_no_file(self, connected: Connected) -> None:
        connected.folder.rmdir()
        connected.folder.symlink_to(connected.secret.parent)

        with pytest.raises(LoadError, match=r"link|no folder"):
            connected.stage({"file": "secret.csv"})

    @pytest.mark.parametrize("way", ["itself", "hard link", "in a folder"])
    def test_a_stream_gets_no_file_of_the_server(self, connected: Connected, way: str) -> None:
        file = connected.folder / "a.csv"
        if way == "hard link":
            file.hardlink_to(connected.secret)
        else:
            file.write_text("secret")
        connected.own = {"itself": (file,), "hard link": (connected.secret,), "in a folder": (connected.folder,)}[way]

        with pytest.raises(LoadError, match="belongs to the server itself"):
            connected.stage({"file": "a.csv"})
        assert not list(connected.goal.iterdir())

    def test_a_named_pipe_is_refused_without_waiting_for_it(self, connected: Connected) -> None:
        os.mkfifo(connected.folder / "a.csv")

        with pytest.raises(LoadError, match="is not a regular file"):
            connected.stage({"file": "a.csv"})

    def test_a_stream_skips_a_file_that_is_deleted_after_the_listing(
        self, connected: Connected, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("a.csv", "b.csv"):
            (connected.folder / name).write_text(name)
        listed = folder_copy.list_files

        def list_and_remove(folder: int) -> object:
            found = listed(folder)
            (connected.folder / "a.csv").unlink(missing_ok=True)
            return found

        monkeypatch.setattr("headgate.pipelines.loading.connected_files.list_files", list_and_remove)

        assert connected.stage({"file": "."}) == {"b.csv": "b.csv"}
        (connected.folder / "a.csv").write_text("a")
        with pytest.raises(LoadError, match="there is no file"):
            connected.stage({"prefix": "a"})

    @pytest.mark.parametrize("name", [b"a\xff.csv", b"a:b.csv", b"a\n.csv", b"a%2e.csv", b"a{b}*.csv", b"a.csv.gz"])
    def test_a_stream_gets_no_file_while_one_has_a_name_that_spark_cannot_open(
        self, connected: Connected, name: bytes
    ) -> None:
        for each in (b"a", name):
            Path(os.fsdecode(os.fsencode(connected.folder) + b"/" + each)).write_text("n\n1\n")

        with pytest.raises(LoadError, match=r"rename the file|compressed files are not read") as raised:
            connected.stage({"prefix": "a"})

        assert str(raised.value).encode().isascii()
        assert str(connected.root.parent) not in str(raised.value)
        assert not list(connected.goal.iterdir())

    def test_a_stream_gets_no_file_above_the_limits(self, connected: Connected) -> None:
        (connected.folder / "a.csv").write_text("a")
        seen = list[Path]()

        def refuse(file: Path, _: Callable[[], bool]) -> None:
            seen.append(file)
            raise LoadError("a line is too long")

        connected.bound = refuse

        with pytest.raises(LoadError, match=r"`a\.csv` in the connection's folder: a line is too long"):
            connected.stage({"file": "a.csv"})
        assert seen == [connected.goal / "a.csv"]

    def test_staging_ends_when_the_run_has_to_end(self, connected: Connected) -> None:
        (connected.folder / "a.csv").write_text("a")

        with pytest.raises(EndedError):
            connected.stage({"file": "a.csv"}, lambda: True)

    def test_a_file_that_does_not_fit_on_the_disk_is_reported(
        self, connected: Connected, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (connected.folder / "a.csv").write_text("a")
        monkeypatch.setattr(disk_space, "_LEFT_FREE", 1 << 62)

        with pytest.raises(LoadError, match=r"`a\.csv` .*: the server's disk has no space"):
            connected.stage({"file": "a.csv"})

    def test_a_file_that_grows_while_it_is_copied_is_reported(self, connected: Connected) -> None:
        (connected.folder / "a.csv").write_text("a")

        def grow() -> bool:
            with (connected.folder / "a.csv").open("a") as file:
                file.write("b" * 1000)
            return False

        with pytest.raises(LoadError, match=r"`a\.csv` .*: the file changed while it was copied"):
            connected.stage({"file": "a.csv"}, grow)
        assert (connected.goal / "a.csv").stat().st_size <= 2


def test_a_listing_skips_a_file_that_is_deleted_while_the_folder_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).touch()
    read = os.scandir

    @contextmanager
    def read_and_remove(folder: int) -> Iterator[list[os.DirEntry[str]]]:
        with read(folder) as entries:
            found = list(entries)
        (tmp_path / "a.csv").unlink()
        yield found

    monkeypatch.setattr(os, "scandir", read_and_remove)

    with open_folder(tmp_path, PurePosixPath()) as folder:
        assert [each.name for each in list_files(folder)] == ["b.csv"]


def test_a_listing_of_too_many_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).touch()
    monkeypatch.setattr(folder_copy, "MAX_FILES", 1)

    with open_folder(tmp_path, PurePosixPath()) as folder, pytest.raises(LoadError, match="more than 1 files"):
        list_files(folder)
