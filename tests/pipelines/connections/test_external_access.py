"""External access of runs: the files that a run may read and write on Spark, and the targets of its connections."""

import os
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from headgate.control.connections.commands import JdbcAccessError
from headgate.control.connections.vault import Vault
from headgate.control.egress import Address, EgressRules, parse_host_rule
from headgate.control.kernel.ports import DocumentPut
from headgate.facts.caller import Caller
from headgate.facts.changes import RoleRevoked, RunEnded, RunStarted
from headgate.facts.ids import PrincipalId, ResourceId, RunId
from headgate.pipelines.connections.egress import AllowedFolder, Egress, EgressError
from headgate.pipelines.connections.external_access import ExternalAccessPolicy
from headgate.pipelines.connections.targets import DatabasePlace, FolderPlace, HttpPlace, PlaceError
from headgate.pipelines.errors import describe_failure
from tests.egress import open_egress
from tests.fakes.small_organization import ADMIN, DELAYS, LOAD, MEMBER, PLACE, ROOT, controlled

RUN = RunId("run")
AS_RUN = Caller(ADMIN, run=RUN)
SHOP = {
    "kind": "postgresql",
    "host": "db.example.org",
    "port": 5432,
    "database": "shop",
    "user": "u",
    "sslmode": "prefer",
}
PUBLIC = ip_address("93.184.215.14")


@dataclass(frozen=True)
class Scene:
    """The folder of a connection, the data folder, and a folder of no connection; `load` declares the connection."""

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


def places(scene: Scene, *more: object, behind: Any = None, egress: Egress | None = None) -> ExternalAccessPolicy:
    control, store = controlled(RunStarted(RUN, LOAD, ADMIN), *more)  # pyright: ignore[reportArgumentType]
    document = behind or {"kind": "folder", "folder": str(scene.folder)}
    store.put_document(DocumentPut("connection", PLACE, document))
    return ExternalAccessPolicy(
        ROOT, control, store, scene.own, Vault(scene.own / "secrets.key"), egress or open_egress()
    )


@pytest.mark.parametrize("id", ["../../../warehouse/acme", "/etc", "..", "", "a/b", "a\0"])
def test_an_id_that_is_no_folder_name_is_refused(scene: Scene, id: str) -> None:
    with pytest.raises(PlaceError):
        places(scene).staging(RunId(id))
    with pytest.raises(PlaceError):
        places(scene).checkpoints(ResourceId(id))
    with pytest.raises(PlaceError):
        places(scene).incoming(ResourceId(id))


class TestARun:
    @pytest.mark.parametrize(
        "path",
        ["{folder}", "{folder}/a.csv", "file:{folder}/a.csv", "{other}/a.csv", "{own}/a.csv", "file:{folder}/%2e%2e/data/a.csv",
         "{folder}/*.csv", "s3a://bucket/a.csv", "a.csv", "", "file://elsewhere{folder}/a.csv", "/etc/passwd", "{folder}/a.csv\0"],
    )  # fmt: skip
    def test_a_run_may_not_open_a_path_outside_its_own_folders(self, scene: Scene, path: str) -> None:
        asked = places(scene)
        named = path.format(folder=scene.folder, other=scene.other, own=scene.own)

        assert not asked.may_read(AS_RUN, named)
        assert not asked.may_write(AS_RUN, named)

    def test_a_run_may_read_and_write_in_its_own_staging_folder_only(self, scene: Scene) -> None:
        other = Caller(ADMIN, run=RunId("other"))
        asked = places(scene, RunStarted(RunId("other"), DELAYS, ADMIN))
        staged = f"{asked.staging(RUN)}/page.json"

        for path in (staged, f"file:{staged}", f"file://{staged.replace('page', '%70age')}"):
            assert asked.may_read(AS_RUN, path)
        assert asked.may_write(AS_RUN, staged)
        assert not asked.may_read(other, staged)
        assert not asked.may_write(other, staged)
        assert not asked.may_read(Caller(ADMIN), staged)

    def test_a_run_may_read_but_not_write_the_incoming_copies_of_its_own_pipeline(self, scene: Scene) -> None:
        asked = places(scene)

        assert asked.may_read(AS_RUN, f"{asked.incoming(LOAD)}/a.csv")
        assert not asked.may_write(AS_RUN, f"{asked.incoming(LOAD)}/a.csv")
        assert not asked.may_read(AS_RUN, f"{asked.incoming(DELAYS)}/a.csv")

    def test_a_run_may_not_read_copies_after_its_run_as_loses_the_connection(self, scene: Scene) -> None:
        asked = places(scene, RoleRevoked(ADMIN, "admin", ROOT))

        assert not asked.may_read(AS_RUN, f"{asked.incoming(LOAD)}/a.csv")

    def test_a_run_may_not_read_or_write_after_its_end(self, scene: Scene) -> None:
        asked = places(scene, RunEnded(RUN, "failed"))

        assert not asked.may_read(AS_RUN, f"{asked.staging(RUN)}/page.json")
        assert not asked.may_read(AS_RUN, f"{asked.incoming(LOAD)}/a.csv")
        assert not asked.may_write(AS_RUN, f"{asked.staging(RUN)}/page.json")
        assert not asked.may_checkpoint(AS_RUN, f"{asked.checkpoints(LOAD)}/flights")

    def test_a_run_may_not_follow_a_link_out_of_its_own_folder(self, scene: Scene) -> None:
        asked = places(scene)
        asked.staging(RUN).mkdir(parents=True)
        (asked.staging(RUN) / "link").symlink_to(scene.own)

        assert not asked.may_read(AS_RUN, f"{asked.staging(RUN)}/link/a.csv")
        assert not asked.may_read(AS_RUN, str(asked.staging(RUN)))
        assert not asked.may_write(AS_RUN, f"{asked.staging(RUN)}/link/a.csv")
        assert not asked.may_write(AS_RUN, f"{asked.staging(RUN)}/../{RUN}")

    def test_a_run_may_write_a_folder_while_spark_deletes_its_temporary_folder(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = places(scene)
        written = asked.staging(RUN) / "written"
        temporary = written / "_temporary"
        temporary.mkdir(parents=True)
        scan = os.scandir

        def delete_and_scan(folder: str) -> Any:
            if folder == str(temporary):
                temporary.rmdir()
            return scan(folder)

        monkeypatch.setattr("os.scandir", delete_and_scan)

        assert asked.may_write(AS_RUN, str(written))
        assert not temporary.exists()

    def test_a_run_may_not_read_a_folder_that_cannot_be_listed(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fails(_: object) -> None:
            raise PermissionError

        asked = places(scene)
        asked.staging(RUN).mkdir(parents=True)
        monkeypatch.setattr("os.scandir", fails)

        assert not asked.may_read(AS_RUN, str(asked.staging(RUN)))

    def test_a_run_may_checkpoint_the_streams_of_its_own_pipeline_only(self, scene: Scene) -> None:
        asked = places(scene)

        assert asked.may_checkpoint(AS_RUN, f"{asked.checkpoints(LOAD)}/flights")
        assert not asked.may_checkpoint(AS_RUN, f"{asked.checkpoints(DELAYS)}/flights")
        assert not asked.may_checkpoint(AS_RUN, f"{asked.checkpoints(LOAD)}/../x")
        assert not asked.may_checkpoint(AS_RUN, f"{scene.folder}/x")
        assert not asked.may_read(AS_RUN, f"{asked.checkpoints(LOAD)}/flights")


@pytest.mark.parametrize("who", [ADMIN, MEMBER, PrincipalId("nobody")])
def test_a_caller_outside_a_run_may_not_read_or_write_a_path(scene: Scene, who: PrincipalId) -> None:
    asked = places(scene)

    for path in (f"{scene.folder}/a.csv", f"{asked.staging(RUN)}/a.csv", f"{asked.incoming(LOAD)}/a.csv"):
        assert not asked.may_read(Caller(who), path)
        assert not asked.may_write(Caller(who), path)


class TestAConnection:
    def test_a_connection_can_be_used_by_name_while_the_run_as_may_use_it(self, scene: Scene) -> None:
        name = next(edge.name for edge in places(scene)._list_usable_connections(AS_RUN))

        assert places(scene).may_use(AS_RUN, name)
        assert not places(scene, RoleRevoked(ADMIN, "admin", ROOT)).may_use(AS_RUN, name)
        assert not places(scene).may_use(Caller(ADMIN), name)

    def test_a_folder_connection_has_the_root_that_allows_it(self, scene: Scene) -> None:
        rules = EgressRules((PurePosixPath(scene.folder.parent),))

        found = places(scene, egress=Egress(rules)).place(PLACE)

        assert found == FolderPlace(AllowedFolder(scene.folder.parent, PurePosixPath("declared")))

    def test_a_database_connection_has_the_allowed_addresses_only(self, scene: Scene) -> None:
        egress = listed("db.example.org:5432", PUBLIC, ip_address("10.0.0.1"))

        found = places(scene, behind=SHOP, egress=egress).place(PLACE)

        assert isinstance(found, DatabasePlace)
        assert found.addresses == (PUBLIC,)

    def test_an_api_connection_is_checked_at_every_request(self, scene: Scene) -> None:
        answers = [[PUBLIC], [PUBLIC], [ip_address("127.0.0.1")]]
        rules = EgressRules(hosts=(parse_host_rule("api.example.org:443"),))
        egress = Egress(rules, resolve=lambda *_: answers.pop(0))

        found = places(scene, behind={"kind": "http", "base_url": "https://api.example.org/v1"}, egress=egress).place(
            PLACE
        )

        assert isinstance(found, HttpPlace)
        assert found.decide("api.example.org", 443) == (PUBLIC,)
        with pytest.raises(EgressError):
            found.decide("api.example.org", 443)

    @pytest.mark.parametrize(
        "behind",
        [SHOP, {"kind": "http", "base_url": "http://169.254.169.254/latest"}, {"kind": "folder", "folder": "/etc"}],
        ids=lambda each: each["kind"],
    )
    def test_a_connection_that_is_not_listed_is_refused_without_naming_its_target(
        self, scene: Scene, behind: Any
    ) -> None:
        with pytest.raises(EgressError) as raised:
            places(scene, behind=behind, egress=Egress()).place(PLACE)

        assert "HEADGATE_EGRESS" in str(raised.value)
        assert not any(word in str(raised.value) for word in ("example", "169.254", "/etc"))
        assert describe_failure(raised.value).refused

    def test_a_driver_gets_no_access_to_a_connection_that_is_not_listed(self, scene: Scene) -> None:
        asked = places(scene, behind=SHOP, egress=listed("db.example.org:5432", ip_address("127.0.0.1")))
        name = next(edge.name for edge in asked._list_usable_connections(AS_RUN))

        with pytest.raises(JdbcAccessError, match="HEADGATE_EGRESS"):
            asked.jdbc_access(AS_RUN, name)

    def test_a_driver_connects_to_the_allowed_addresses_under_the_hosts_name(self, scene: Scene) -> None:
        asked = places(scene, behind=SHOP, egress=listed("db.example.org:5432", PUBLIC, ip_address("1.1.1.1")))
        name = next(edge.name for edge in asked._list_usable_connections(AS_RUN))

        found = asked.jdbc_access(AS_RUN, name)

        assert found.url == "jdbc:postgresql://db.example.org:5432/shop"
        assert found.properties["socketFactoryArg"] == f"5432 {PUBLIC} 1.1.1.1"

    def test_a_connection_with_an_unresolved_name_fails_without_a_refusal(self, scene: Scene) -> None:
        def fails(*_: object) -> tuple[Address, ...]:
            raise OSError

        egress = replace(listed("db.example.org:5432"), resolve=fails)

        with pytest.raises(PlaceError, match="cannot be resolved") as raised:
            places(scene, behind=SHOP, egress=egress).place(PLACE)

        assert not describe_failure(raised.value).refused

    def test_a_deleted_connection_is_reported(self, scene: Scene) -> None:
        with pytest.raises(PlaceError, match="the connection of the pipeline was deleted"):
            places(scene).place(LOAD)


def listed(rule: str, *addresses: Address) -> Egress:
    """Return egress rules with one host, and a resolver with these addresses for it."""
    return Egress(EgressRules(hosts=(parse_host_rule(rule),)), resolve=lambda *_: addresses)
