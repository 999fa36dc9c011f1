"""Files of a destination replace older files atomically and completely."""

from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from pyspark.errors import PySparkException

from headgate.facts.ids import RunId
from headgate.pipelines.connections.egress import AllowedFolder
from headgate.pipelines.connections.server_files import ServerFiles
from headgate.pipelines.files import disk_space
from headgate.pipelines.load_errors import LoadError
from headgate.pipelines.writing.files import FilesError, write_files
from tests.pipelines.spark_deployment import ByHand

RUN = RunId("run_1")


class Frame:
    """A fake data frame that writes one file and Spark's marker files, or fails before the end."""

    def __init__(self, text: str, then: Callable[[], None] = lambda: None) -> None:
        self.write = self
        self._text = text
        self._then = then

    def format(self, _: str) -> "Frame":
        return self

    def options(self, **_: str) -> "Frame":
        return self

    def save(self, path: str) -> None:
        folder = Path(path)
        folder.mkdir()
        for name in ("part-0.csv", ".part-0.csv.crc", "_SUCCESS"):
            (folder / name).write_text(self._text)
        self._then()


def write(goal: Path, text: str, then: Callable[[], None] = lambda: None) -> None:
    """Write a folder with one file of this text."""
    frame: Any = Frame(text, then)
    staging = goal.parent.with_name(f"{goal.parent.name}-staging")
    staging.mkdir(exist_ok=True)
    write_files(frame, "csv", lambda: AllowedFolder(goal.parent), goal.name, staging, RUN, lambda: False)


def there(folder: Path) -> dict[str, str]:
    """Return every file below a folder, with its text."""
    return {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*") if file.is_file()}


class TestAFolder:
    def test_the_output_folder_is_created_and_then_replaced(self, tmp_path: Path) -> None:
        for text in ("old", "new"):
            write(tmp_path / "out", text)

            assert there(tmp_path) == {"out/part-0.csv": text}

    def test_the_output_folder_stays_complete_while_it_is_replaced(self, tmp_path: Path) -> None:
        write(tmp_path / "out", "old")
        seen: list[dict[str, str]] = []

        write(tmp_path / "out", "new", lambda: seen.append(there(tmp_path / "out")))

        assert seen == [{"part-0.csv": "old"}]

    def test_the_output_folder_is_unchanged_when_a_run_fails(self, tmp_path: Path) -> None:
        write(tmp_path / "out", "old")

        with pytest.raises(RuntimeError):
            write(tmp_path / "out", "new", _fails)

        assert there(tmp_path) == {"out/part-0.csv": "old"}

    def test_the_output_folder_is_written_by_the_attempt_after_a_killed_one(self, tmp_path: Path) -> None:
        left = tmp_path / f".out.{RUN}"
        left.mkdir()
        (left / "part-9.csv").write_text("torn")

        write(tmp_path / "out", "new")

        assert there(tmp_path) == {"out/part-0.csv": "new"}

    @pytest.mark.parametrize(
        "make", [lambda goal: goal.symlink_to("/"), lambda goal: goal.write_text("a file")], ids=["link", "file"]
    )
    def test_an_output_that_is_a_link_or_a_file_is_refused(
        self, tmp_path: Path, make: Callable[[Path], object]
    ) -> None:
        make(tmp_path / "out")

        with pytest.raises(FilesError, match="is not a folder"):
            write(tmp_path / "out", "new")

        assert [each.name for each in tmp_path.iterdir()] == ["out"]

    def test_the_output_folder_is_unchanged_when_the_disk_is_full(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(tmp_path / "out", "old")
        monkeypatch.setattr(disk_space, "_LEFT_FREE", 1 << 62)

        with pytest.raises(LoadError, match="disk has no space"):
            write(tmp_path / "out", "new")

        assert there(tmp_path) == {"out/part-0.csv": "old"}

    def test_spark_writes_to_staging_before_the_folder_of_the_connection(self, tmp_path: Path) -> None:
        seen: list[list[Path]] = []

        write(tmp_path / "out", "new", lambda: seen.append(list(tmp_path.iterdir())))

        assert seen == [[]]

    def test_a_connection_folder_that_was_replaced_by_a_link_is_not_followed(self, tmp_path: Path) -> None:
        folder, other = tmp_path / "connected", tmp_path / "other"
        folder.mkdir()
        other.mkdir()
        (other / "kept.csv").write_text("of others")

        def swap() -> None:
            folder.rename(tmp_path / "before")
            folder.symlink_to(other)

        frame: Any = Frame("new", swap)
        allowed = AllowedFolder(tmp_path, PurePosixPath("connected"))
        with pytest.raises(LoadError, match=r"is a symbolic link|no folder"):
            write_files(frame, "csv", lambda: allowed, "out", _made(tmp_path / "staging"), RUN, lambda: False)

        assert there(other) == {"kept.csv": "of others"}

    @pytest.mark.parametrize("decisions", [0, 1, 2])
    def test_the_output_folder_is_unchanged_when_the_run_loses_its_connection(
        self, tmp_path: Path, decisions: int
    ) -> None:
        goal = _made(tmp_path / "connected")
        write(goal / "out", "old")
        left = [AllowedFolder(goal)] * decisions

        def connected() -> AllowedFolder:
            if not left:
                raise InterruptedError("the privilege was revoked")
            return left.pop()

        frame: Any = Frame("new")
        with pytest.raises(InterruptedError):
            write_files(frame, "csv", connected, "out", _made(tmp_path / "staging"), RUN, lambda: False)

        assert there(goal) == {"out/part-0.csv": "old"}

    @pytest.mark.parametrize("own", ["out", "out/deep/key.pem", "out/link.pem"])
    def test_an_output_folder_with_files_of_the_server_is_not_replaced(self, tmp_path: Path, own: str) -> None:
        key = tmp_path / own
        key.parent.mkdir(parents=True, exist_ok=True)
        key.mkdir() if own == "out" else key.symlink_to("/etc/hostname") if "link" in own else key.write_text("key")
        frame: Any = Frame("new")
        allowed = AllowedFolder(tmp_path, server_files=ServerFiles((key,)))

        with pytest.raises(FilesError, match="files of the server itself"):
            write_files(frame, "csv", lambda: allowed, "out", _made(tmp_path / "staging"), RUN, lambda: False)

        assert key.exists()


@pytest.mark.spark
class TestOnSpark:
    @pytest.mark.parametrize("format", ["csv", "json", "parquet"])
    def test_a_table_is_written_to_files_and_replaced_by_the_next_run(
        self, lake: ByHand, tmp_path: Path, format: str
    ) -> None:
        name = f"out_{format}"
        lake.owner.call("POST", "/connections", {"name": f"{name}_folder", "folder": str(tmp_path)})
        goal = {"connection": f"{name}_folder", "files": {"folder": "flights", "format": format}}
        definition = {"kind": "destination", "name": f"{name}_d", "input": f"lake.raw.{name}", **goal}
        for count in (2, 1):
            lake.spark.sql(f"CREATE OR REPLACE TABLE lake.raw.{name} AS SELECT id, 'a' AS word FROM range({count})")

            told = lake.run(definition)

            assert told.metrics == {"rows": count}
            assert [each.name for each in tmp_path.iterdir()] == ["flights"]
            assert {each.suffix for each in (tmp_path / "flights").iterdir()} == {f".{format}"}
        if format == "json":
            assert [each.read_text() for each in (tmp_path / "flights").iterdir()] == ['{"id":0,"word":"a"}\n']

    def test_spark_may_not_write_into_the_folder_of_the_connection(self, lake: ByHand, tmp_path: Path) -> None:
        lake.spark.sql("CREATE TABLE lake.raw.kept_back AS SELECT 1 AS n")
        lake.owner.call("POST", "/connections", {"name": "narrow", "folder": str(tmp_path)})
        goal = {"connection": "narrow", "files": {"folder": "out"}}
        lake.save({"kind": "destination", "name": "narrow_d", "input": "lake.raw.kept_back", **goal})
        with lake.execution("narrow_d") as (execution, _):
            frame = execution.spark.table("lake.raw.kept_back")

            with pytest.raises(PySparkException) as raised:
                frame.write.format("parquet").save(str(tmp_path / "elsewhere"))

        assert raised.value.getSqlState() == "42501"
        assert not list(tmp_path.iterdir())


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _fails() -> None:
    raise RuntimeError("Spark was away")
