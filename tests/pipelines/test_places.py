"""Which files a run may read."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from headgate.control.ports import DocumentPut
from headgate.control.vault import Vault
from headgate.facts.caller import Caller
from headgate.facts.changes import RoleRevoked, RunEnded, RunStarted
from headgate.facts.ids import PrincipalId, RunId
from headgate.pipelines.places import Places
from tests.fakes.world import ADMIN, DELAYS, LOAD, MEMBER, PLACE, ROOT, controlled

RUN = RunId("run")


@dataclass(frozen=True)
class Scene:
    """A connection's folder, beside a data folder and a folder of others; `load` declares the connection."""

    folder: Path
    own: Path
    other: Path


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    made = Scene(*(tmp_path / name for name in ("declared", "data", "declared-not")))
    for folder in (made.folder, made.own, made.other):
        folder.mkdir()
        (folder / "a.csv").write_text("a")
    return made


def places(scene: Scene, *more: object, folder: Path | None = None) -> Places:
    control, store = controlled(RunStarted(RUN, LOAD, ADMIN), *more)  # pyright: ignore[reportArgumentType]
    store.put_document(DocumentPut("connection", PLACE, {"kind": "folder", "folder": str(folder or scene.folder)}))
    return Places(control, store, scene.own, Vault(scene.own / "secrets.key"))


AS_RUN = Caller(ADMIN, run=RUN)


def may_read(scene: Scene, path: str, *more: object, caller: Caller = AS_RUN, folder: Path | None = None) -> bool:
    return places(scene, *more, folder=folder).may_read(caller, path)


def may_write(scene: Scene, path: str, *more: object, caller: Caller = AS_RUN, folder: Path | None = None) -> bool:
    return places(scene, *more, folder=folder).may_write(caller, path)


class TestARun:
    def test_reads_files_of_its_connection(self, scene: Scene) -> None:
        assert may_read(scene, f"{scene.folder}/a.csv")
        assert may_read(scene, f"file:{scene.folder}/a.csv")
        assert may_read(scene, f"file://{scene.folder}/a%2Ecsv")

    @pytest.mark.parametrize(
        "path",
        ["{other}/a.csv", "{folder}-not/a.csv", "{folder}/../declared-not/a.csv", "file:{folder}/%2e%2e/data/a.csv",
         "{folder}/*.csv", "{folder}/{{a,b}}.csv", "s3a://bucket/a.csv", "hdfs:{folder}/a.csv", "a.csv", "",
         "file://elsewhere{folder}/a.csv", "/etc/passwd", "{folder}/a.csv\0"],
    )  # fmt: skip
    def test_reads_nothing_else(self, scene: Scene, path: str) -> None:
        assert not may_read(scene, path.format(folder=scene.folder, other=scene.other))

    def test_follows_no_link_out(self, scene: Scene) -> None:
        (scene.folder / "link.csv").symlink_to(scene.other / "a.csv")

        assert not may_read(scene, f"{scene.folder}/link.csv")

    @pytest.mark.parametrize("below", [".", "deep"])
    def test_reads_no_folder_with_a_link_in_it(self, scene: Scene, below: str) -> None:
        holds = scene.folder / below
        holds.mkdir(exist_ok=True)
        assert may_read(scene, str(scene.folder))

        (holds / "link").symlink_to(scene.other if below == "." else scene.own / "a.csv")

        assert not may_read(scene, str(scene.folder))
        assert may_read(scene, f"{scene.folder}/a.csv")

    def test_reads_no_folder_that_cannot_be_looked_through(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        def fails(_: object) -> None:
            raise PermissionError

        monkeypatch.setattr("os.scandir", fails)

        assert not may_read(scene, str(scene.folder))

    def test_never_reads_the_data_folder_whatever_is_declared(self, scene: Scene) -> None:
        for folder in (scene.own, scene.own.parent, Path("/")):
            assert not may_read(scene, f"{scene.own}/a.csv", folder=folder)
            assert not may_read(scene, str(scene.own.parent), folder=folder)

    def test_reads_nothing_once_its_run_as_may_not_use_the_connection(self, scene: Scene) -> None:
        assert not may_read(scene, f"{scene.folder}/a.csv", RoleRevoked(ADMIN, "admin", ROOT))

    def test_reads_nothing_after_its_end(self, scene: Scene) -> None:
        assert not may_read(scene, f"{scene.folder}/a.csv", RunEnded(RUN, "failed"))

    def test_of_a_pipeline_without_a_connection_reads_nothing(self, scene: Scene) -> None:
        other = RunId("other")

        assert not may_read(
            scene, f"{scene.folder}/a.csv", RunStarted(other, DELAYS, ADMIN), caller=Caller(ADMIN, run=other)
        )


@pytest.mark.parametrize("who", [ADMIN, MEMBER, PrincipalId("nobody")])
def test_nobody_reads_a_file_outside_a_run(scene: Scene, who: PrincipalId) -> None:
    assert not may_read(scene, f"{scene.folder}/a.csv", caller=Caller(who))
    assert not may_write(scene, f"{scene.folder}/a.csv", caller=Caller(who))


class TestARunWrites:
    def test_below_the_folder_of_its_connection(self, scene: Scene) -> None:
        assert may_write(scene, f"{scene.folder}/out")
        assert may_write(scene, f"file:{scene.folder}/deep/out")

    def test_never_the_whole_folder(self, scene: Scene) -> None:
        assert not may_write(scene, f"{scene.folder}/")
        assert not may_write(scene, f"{scene.folder}/out/..")

    @pytest.mark.parametrize("path", ["{other}/out", "{folder}-not/out", "{own}/out", "{own}/warehouse/t", "/srv/out"])
    def test_nowhere_else(self, scene: Scene, path: str) -> None:
        assert not may_write(scene, path.format(folder=scene.folder, other=scene.other, own=scene.own))

    def test_through_no_link(self, scene: Scene) -> None:
        (scene.folder / "link").symlink_to(scene.other)

        assert not may_write(scene, f"{scene.folder}/link/out")
        assert not may_write(scene, f"{scene.folder}/link")

    def test_over_no_folder_with_a_link_in_it(self, scene: Scene) -> None:
        (scene.folder / "out").mkdir()
        (scene.folder / "out" / "link").symlink_to(scene.other)

        assert not may_write(scene, f"{scene.folder}/out")

    def test_nothing_once_its_run_as_may_not_use_the_connection(self, scene: Scene) -> None:
        assert not may_write(scene, f"{scene.folder}/out", RoleRevoked(ADMIN, "admin", ROOT))

    def test_nothing_after_its_end(self, scene: Scene) -> None:
        assert not may_write(scene, f"{scene.folder}/out", RunEnded(RUN, "failed"))


class TestTheFoldersOfARun:
    def test_are_read_and_written_by_it_alone(self, scene: Scene) -> None:
        other = Caller(ADMIN, run=RunId("other"))
        asked = places(scene, RunStarted(RunId("other"), DELAYS, ADMIN))
        staged = f"{asked.staging(RUN)}/page.json"

        assert asked.may_read(AS_RUN, staged)
        assert asked.may_write(AS_RUN, staged)
        assert not asked.may_read(other, staged)
        assert not asked.may_write(other, staged)
        assert not asked.may_read(Caller(ADMIN), staged)

    def test_end_with_it(self, scene: Scene) -> None:
        asked = places(scene, RunEnded(RUN, "failed"))

        assert not asked.may_read(AS_RUN, f"{asked.staging(RUN)}/page.json")
        assert not asked.may_checkpoint(AS_RUN, f"{asked.checkpoints(LOAD)}/flights")

    def test_lead_nowhere_by_a_link(self, scene: Scene) -> None:
        asked = places(scene)
        asked.staging(RUN).mkdir(parents=True)
        (asked.staging(RUN) / "link").symlink_to(scene.own)

        assert not asked.may_read(AS_RUN, f"{asked.staging(RUN)}/link/a.csv")
        assert not asked.may_read(AS_RUN, str(asked.staging(RUN)))
        assert not asked.may_write(AS_RUN, f"{asked.staging(RUN)}/../{RUN}")

    def test_keep_the_progress_of_its_own_pipeline_only(self, scene: Scene) -> None:
        asked = places(scene)

        assert asked.may_checkpoint(AS_RUN, f"{asked.checkpoints(LOAD)}/flights")
        assert not asked.may_checkpoint(AS_RUN, f"{asked.checkpoints(DELAYS)}/flights")
        assert not asked.may_checkpoint(AS_RUN, f"{asked.checkpoints(LOAD)}/../x")
        assert not asked.may_checkpoint(AS_RUN, f"{scene.folder}/x")
        assert not asked.may_read(AS_RUN, f"{asked.checkpoints(LOAD)}/flights")
