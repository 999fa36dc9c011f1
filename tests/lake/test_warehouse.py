"""Files of the warehouse: inside their table, durable, and removed safely."""

import os
from pathlib import Path

import pytest

from headgate.facts.ids import ResourceId
from headgate.lake.errors import ConflictError, InvalidMetadataError, RuleError
from headgate.lake.warehouse import MAX_FILE_BYTES, FileWarehouse, may_adopt

ACME, GLOBEX = ResourceId("acme"), ResourceId("globex")
DATABASE, TABLE = ResourceId("d1"), ResourceId("t1")


@pytest.fixture
def warehouse(tmp_path: Path) -> FileWarehouse:
    return FileWarehouse(tmp_path / "warehouse", ACME)


def test_a_file_is_written_once_and_read_back(warehouse: FileWarehouse) -> None:
    location = warehouse.location(DATABASE, TABLE)
    path = f"{location}/metadata/0.json"
    warehouse.write_new(location, path, b"one")

    assert warehouse.read(location, path) == b"one"
    with pytest.raises(FileExistsError):
        warehouse.write_new(location, path, b"two")
    warehouse.remove(location, path)
    with pytest.raises(InvalidMetadataError):
        warehouse.read(location, path)


@pytest.mark.parametrize("size", [MAX_FILE_BYTES, MAX_FILE_BYTES + 1, 10 * MAX_FILE_BYTES])
def test_a_file_above_the_size_limit_is_not_read(warehouse: FileWarehouse, size: int) -> None:
    location = warehouse.location(DATABASE, TABLE)
    path = f"{location}/metadata/0.json"
    warehouse.write_new(location, path, b"")
    os.truncate(path.removeprefix("file://"), size)

    if size == MAX_FILE_BYTES:
        assert len(warehouse.read(location, path)) == size
    else:
        with pytest.raises(InvalidMetadataError, match="larger than 64 MiB"):
            warehouse.read(location, path)


def test_a_named_pipe_is_refused_without_waiting_for_it(warehouse: FileWarehouse) -> None:
    location = warehouse.location(DATABASE, TABLE)
    warehouse.write_new(location, f"{location}/metadata/0.json", b"")
    os.mkfifo(f"{location}/metadata/pipe".removeprefix("file://"))

    with pytest.raises(InvalidMetadataError, match="cannot be read"):
        warehouse.read(location, f"{location}/metadata/pipe")


def test_a_write_to_a_table_that_is_purged_concurrently_is_a_conflict(
    warehouse: FileWarehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = warehouse.location(DATABASE, TABLE)
    monkeypatch.setattr(Path, "mkdir", lambda *_, **__: None)  # the folder is removed as soon as it is created

    with pytest.raises(ConflictError, match="the table was dropped"):
        warehouse.write_new(location, f"{location}/metadata/0.json", b"one")


def test_files_of_another_table_cannot_be_read_written_or_removed(warehouse: FileWarehouse) -> None:
    mine, theirs = warehouse.location(DATABASE, TABLE), warehouse.location(DATABASE, ResourceId("t10"))
    path = f"{theirs}/metadata/0.json"
    warehouse.write_new(theirs, path, b"one")

    with pytest.raises(RuleError):
        warehouse.read(mine, path)
    with pytest.raises(RuleError):
        warehouse.write_new(mine, f"{theirs}/x", b"")
    with pytest.raises(RuleError):
        warehouse.remove(mine, path)


class TestAnotherOrganization:
    def test_each_organization_has_a_root_of_its_own_in_the_warehouse(
        self, warehouse: FileWarehouse, tmp_path: Path
    ) -> None:
        other = FileWarehouse(tmp_path / "warehouse", GLOBEX)

        assert warehouse.location(DATABASE, TABLE) == f"file://{tmp_path}/warehouse/acme/d1/t1"
        assert other.location(DATABASE, TABLE) == f"file://{tmp_path}/warehouse/globex/d1/t1"
        assert warehouse.owner(other.location(DATABASE, TABLE)) is None
        assert warehouse.holds(other.location(DATABASE, TABLE))

    def test_files_of_another_organization_cannot_be_read_written_or_removed(
        self, warehouse: FileWarehouse, tmp_path: Path
    ) -> None:
        other = FileWarehouse(tmp_path / "warehouse", GLOBEX)
        location = other.location(DATABASE, TABLE)
        path = f"{location}/metadata/0.json"
        other.write_new(location, path, b"theirs")

        for touch in (
            lambda: warehouse.read(location, path),
            lambda: warehouse.check(location, path),
            lambda: warehouse.write_new(location, f"{path}x", b""),
            lambda: warehouse.remove(location, path),
            lambda: warehouse.purge(location, TABLE, iter((path,))),
        ):
            with pytest.raises(RuleError):
                touch()

        assert other.read(location, path) == b"theirs"

    @pytest.mark.parametrize("id", ["", ".", "..", "a/b", "../globex", "a b", "%2e", "\0", "-rf"])
    def test_an_organization_id_that_is_no_folder_name_is_refused(self, tmp_path: Path, id: str) -> None:
        with pytest.raises(RuleError):
            FileWarehouse(tmp_path / "warehouse", ResourceId(id))


def test_a_table_in_a_former_location_can_be_read_but_not_purged(tmp_path: Path) -> None:
    warehouse = FileWarehouse(tmp_path / "warehouse", ACME, former=(DATABASE,))
    location = f"file://{tmp_path}/warehouse/d1/t1"
    (tmp_path / "warehouse/d1/t1/metadata").mkdir(parents=True)
    (tmp_path / "warehouse/d1/t1/metadata/0.json").write_bytes(b"old")

    assert warehouse.read(location, f"{location}/metadata/0.json") == b"old"
    with pytest.raises(RuleError, match="not in the organization's folder"):
        warehouse.purge(location, TABLE, iter(()))


@pytest.mark.parametrize("below", ["d2/t1", "globex/d1", "d1", "d1/t1/x", "d1%2f..%2fd2/t1"])
def test_any_other_location_in_the_warehouse_is_no_former_location(tmp_path: Path, below: str) -> None:
    warehouse = FileWarehouse(tmp_path / "warehouse", ACME, former=(DATABASE,))
    file = tmp_path / "warehouse" / below / "metadata/0.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"theirs")

    with pytest.raises(RuleError, match="not in the organization's folder of the warehouse"):
        warehouse.read(f"file://{tmp_path}/warehouse/{below}", f"file://{file}")


class TestATableOfAnExportedOrganization:
    @pytest.mark.parametrize(
        ("location", "named", "may"),
        [
            ("{root}/acme/d1/t1", (), True),
            ("{root}/acme/d1", (), False),
            ("{root}/d1/t1", (), False),
            ("{root}/d1/t1", ("{root}",), False),
            ("{root}/globex/d1/t1", ("{root}/globex",), False),
            ("/old/warehouse/d1/t1", (), False),
            ("/old/warehouse/d1/t1", ("/old/warehouse",), True),
            ("/old/warehouse2/d1/t1", ("/old/warehouse",), False),
            ("/old/warehouse/../x/t1", ("/old/warehouse",), False),
            ("/", ("/old",), False),
            ("", ("/old",), False),
            ("s3://bucket/d1/t1", ("/old", "s3://bucket"), False),
        ],
    )
    def test_an_imported_table_must_be_in_its_organizations_root_or_an_operators_location(
        self, warehouse: FileWarehouse, tmp_path: Path, location: str, named: tuple[str, ...], may: object
    ) -> None:
        root = tmp_path / "warehouse"
        said = [each.format(root=root) for each in named]

        assert may_adopt(warehouse, location.format(root=root), said) is may


def test_a_warehouse_behind_a_link_contains_its_own_files(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    warehouse = FileWarehouse(tmp_path / "link", ACME)
    location = warehouse.location(DATABASE, TABLE)

    warehouse.write_new(location, f"{location}/a", b"one")

    assert (tmp_path / "real" / ACME / DATABASE / TABLE / "a").read_bytes() == b"one"


def test_a_warehouse_with_a_hash_sign_in_its_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RuleError):
        FileWarehouse(tmp_path / "a#b", ACME)


class TestPurge:
    def test_a_purge_removes_the_folder_of_the_table_only(self, warehouse: FileWarehouse, tmp_path: Path) -> None:
        other = warehouse.location(DATABASE, ResourceId("t10"))
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "kept").touch()
        location = warehouse.location(DATABASE, TABLE)
        for each in (location, other):
            warehouse.write_new(each, f"{each}/data/a", b"")
        (tmp_path / "warehouse" / ACME / DATABASE / TABLE / "data" / "link").symlink_to(outside)

        warehouse.purge(location, TABLE, iter(()))

        assert sorted(path.name for path in (tmp_path / "warehouse" / ACME / DATABASE).iterdir()) == ["t10"]
        assert (outside / "kept").exists()

    @pytest.mark.parametrize(
        "location",
        [
            "file:///",
            "file:///tmp/t1",
            "{root}",
            "{root}/acme/d1",
            "{root}/acme/d1/t10",
            "{root}/d1/t1",
            "{root}/globex/d1/t1",
            "t1",
        ],
    )
    def test_a_purge_of_any_other_location_is_refused(
        self, warehouse: FileWarehouse, tmp_path: Path, location: str
    ) -> None:
        with pytest.raises(RuleError):
            warehouse.purge(location.format(root=f"file://{tmp_path}/warehouse"), TABLE, iter(()))
