"""Files of the warehouse: inside their table, durable, and removed with care."""

from pathlib import Path

import pytest

from headgate.facts.ids import ResourceId
from headgate.lake.errors import InvalidError, RuleError
from headgate.lake.warehouse import FileWarehouse

DATABASE, TABLE = ResourceId("d1"), ResourceId("t1")


@pytest.fixture
def warehouse(tmp_path: Path) -> FileWarehouse:
    return FileWarehouse(tmp_path / "warehouse")


def test_a_file_is_written_once_and_read_back(warehouse: FileWarehouse) -> None:
    location = warehouse.location(DATABASE, TABLE)
    path = f"{location}/metadata/0.json"
    warehouse.write_new(location, path, b"one")

    assert warehouse.read(location, path) == b"one"
    with pytest.raises(FileExistsError):
        warehouse.write_new(location, path, b"two")
    warehouse.remove(location, path)
    with pytest.raises(InvalidError):
        warehouse.read(location, path)


def test_nothing_of_another_table_is_read_written_or_removed(warehouse: FileWarehouse) -> None:
    mine, theirs = warehouse.location(DATABASE, TABLE), warehouse.location(DATABASE, ResourceId("t10"))
    path = f"{theirs}/metadata/0.json"
    warehouse.write_new(theirs, path, b"one")

    with pytest.raises(RuleError):
        warehouse.read(mine, path)
    with pytest.raises(RuleError):
        warehouse.write_new(mine, f"{theirs}/x", b"")
    with pytest.raises(RuleError):
        warehouse.remove(mine, path)


def test_a_warehouse_behind_a_link_holds_its_own_files(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    warehouse = FileWarehouse(tmp_path / "link")
    location = warehouse.location(DATABASE, TABLE)

    warehouse.write_new(location, f"{location}/a", b"one")

    assert (tmp_path / "real" / DATABASE / TABLE / "a").read_bytes() == b"one"


def test_a_warehouse_whose_path_readers_would_cut_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RuleError):
        FileWarehouse(tmp_path / "a#b")


class TestPurge:
    def test_removes_the_table_and_nothing_beside_it(self, warehouse: FileWarehouse, tmp_path: Path) -> None:
        other = warehouse.location(DATABASE, ResourceId("t10"))
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "kept").touch()
        location = warehouse.location(DATABASE, TABLE)
        for each in (location, other):
            warehouse.write_new(each, f"{each}/data/a", b"")
        (tmp_path / "warehouse" / DATABASE / TABLE / "data" / "link").symlink_to(outside)

        warehouse.purge(location, TABLE, iter(()))

        assert sorted(path.name for path in (tmp_path / "warehouse" / DATABASE).iterdir()) == ["t10"]
        assert (outside / "kept").exists()

    @pytest.mark.parametrize("location", ["file:///", "file:///tmp/t1", "{root}", "{root}/d1", "{root}/d1/t10", "t1"])
    def test_refuses_any_other_place(self, warehouse: FileWarehouse, tmp_path: Path, location: str) -> None:
        with pytest.raises(RuleError):
            warehouse.purge(location.format(root=f"file://{tmp_path}/warehouse"), TABLE, iter(()))
