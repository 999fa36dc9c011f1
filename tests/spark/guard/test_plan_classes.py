"""The guard's tables of classes, compared with the classes of Spark and Iceberg on the classpath."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headgate.spark.toolchain.prepare import Toolchain
from tests.spark.guard.plan_page import expressions, on_classpath, page, plan_rows

pytestmark = pytest.mark.spark

PAGE = Path(__file__).parents[3] / "docs" / "security" / "plan-classes.md"


@pytest.fixture(scope="module")
def found(toolchain: Toolchain) -> tuple[set[str], set[str]]:
    return on_classpath(toolchain.iceberg_jar)


def test_every_class_in_the_tables_exists_in_spark_or_iceberg_or_the_guard(found: tuple[set[str], set[str]]) -> None:
    plans, others = found

    own = {row.name for row in plan_rows() if row.name.startswith("io.headgate.guard.")}
    assert {row.name for row in plan_rows()} - plans - own == set()
    assert {name for name in expressions() if "$$anon" not in name} - others == set()


def test_no_class_is_listed_twice() -> None:
    names = [row.name for row in plan_rows()]

    assert len(names) == len(set(names))
    assert len(expressions()) == len(set(expressions()))


def test_classes_of_user_code_are_in_no_table() -> None:
    allowed = {name.rpartition(".")[2] for name in (*expressions(), *(row.name for row in plan_rows()))}

    assert {
        name
        for name in allowed
        if any(word in name for word in ("Python", "InPandas", "InArrow", "ScalaUD", "HiveGeneric", "InR"))
    } == {"ScalaUDF"}  # allowed with functions of Spark's own only


def test_the_page_lists_the_reviewed_and_the_unreviewed_classes(
    found: tuple[set[str], set[str]], generated: Callable[[Path, str], None]
) -> None:
    generated(PAGE, page(*found))
