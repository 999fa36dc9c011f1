"""The server's own files are recognized under every path that leads to them."""

from pathlib import Path

import pytest

from headgate.pipelines.connections.server_files import ServerFiles


@pytest.fixture
def files(tmp_path: Path) -> ServerFiles:
    """Return a folder, a file and a link to a file as the server's own, with links to them from other places."""
    (tmp_path / "data" / "keys").mkdir(parents=True)
    for name in ("data/keys/log.pem", "tls.key", "real.key", "other"):
        (tmp_path / name).write_text(name)
    (tmp_path / "named.key").symlink_to("real.key")
    (tmp_path / "link").symlink_to("data")
    (tmp_path / "hard").hardlink_to(tmp_path / "tls.key")
    return ServerFiles((tmp_path / "data", tmp_path / "tls.key", tmp_path / "named.key", tmp_path / "missing"))


@pytest.mark.parametrize(
    "name",
    ["data", "data/keys/log.pem", "data/new", "tls.key", "named.key", "real.key", "link/keys", "hard", "missing"],
)
def test_a_file_of_the_server_is_recognized_under_every_name(files: ServerFiles, tmp_path: Path, name: str) -> None:
    assert files.is_own(tmp_path / name)


@pytest.mark.parametrize("name", [".", "other", "data2", "tls.key2"])
def test_another_file_is_not_taken_for_one_of_the_server(files: ServerFiles, tmp_path: Path, name: str) -> None:
    assert not files.is_own(tmp_path / name)


def test_an_open_file_of_the_server_is_recognized_by_its_identity(files: ServerFiles, tmp_path: Path) -> None:
    with (tmp_path / "hard").open() as own, (tmp_path / "other").open() as other:
        assert files.is_own_open(own.fileno())
        assert not files.is_own_open(other.fileno())


@pytest.mark.parametrize(("name", "lie"), [(".", True), ("data", True), ("link", True), ("other", False)])
def test_a_folder_that_contains_files_of_the_server_is_recognized(
    files: ServerFiles, tmp_path: Path, name: str, *, lie: bool
) -> None:
    assert files.has_own_below(tmp_path / name) is lie
