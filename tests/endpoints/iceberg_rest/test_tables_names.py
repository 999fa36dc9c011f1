"""Names at the REST catalog: only names that every engine can use are accepted."""

from collections.abc import Iterator

import pytest
from pyiceberg.exceptions import BadRequestError
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from tests.lake.catalog_harness import CatalogHarness, served

SCHEMA = Schema(NestedField(1, "n", LongType()))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CatalogHarness]:
    with served(tmp_path_factory.mktemp("world")) as made:
        made.iceberg().create_namespace("raw")
        yield made


class TestNames:
    def test_a_table_name_with_letters_outside_ascii_is_accepted(self, world: CatalogHarness) -> None:
        catalog = world.iceberg()
        catalog.create_table(("raw", "né_1-ß"), SCHEMA)

        assert catalog.table_exists(("raw", "né_1-ß"))
        assert world.call("HEAD", "/namespaces/raw/tables/n%C3%A9_1-%C3%9F").status_code == 204

    @pytest.mark.parametrize("name", ["a b", "a+b", "a%", "a:b", "a#b", "a\u200bb"])
    def test_a_table_name_that_engines_cannot_use_is_refused(self, world: CatalogHarness, name: str) -> None:
        with pytest.raises(BadRequestError):
            world.iceberg().create_table(("raw", name), SCHEMA)
