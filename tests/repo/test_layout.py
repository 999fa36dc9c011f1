"""The layout of the repository: tests are at the paths of their modules, and imports in `control` are shallow."""

import re
from functools import cache
from pathlib import Path

import grimp
import pytest

TESTS, SOURCES = Path("tests"), Path("src/headgate")
GROUPS = {
    "bench": "benchmarks",
    "bypass": "attempts to get around the guard, and the corpus of them",
    "compatibility": "what earlier versions wrote, and models of other products",
    "connect_fuzzer": "mutated messages of Spark Connect",
    "journeys": "what a user does from end to end",
    "promises": "what holds at every route and endpoint",
    "repo": "the repository itself",
    "scenarios": "folders of cases, for every way to ask",
    "spark_compatibility": "the comparison of Spark behind Headgate with plain Spark",
    "spark/gateway/concurrency": "many clients at once at one gateway",
    "spark/guard": "the guard, which is written in Scala",
    "survival": "kills, races, outages",
}
"""Folders of tests that belong to no module, and their contents."""

GUARD = SOURCES / "spark" / "guard" / "scala"
ARCHITECTURE = Path("docs/architecture.md")

MOST_LEVELS = 10
"""The maximum depth of the imports in `control`; a deeper chain takes more than one reading to follow."""


def has_module(test: Path) -> bool:
    """Whether the module or package `x` is at the path that `test_x.py` or `test_x_aspect.py` implies."""
    place, subject = SOURCES / test.parent, test.stem.removeprefix("test_")
    names = [each.stem for each in place.glob("*") if each.suffix == ".py" or each.is_dir()]
    return any(subject == name or subject.startswith(f"{name}_") for name in names)


def files_of_modules() -> list[Path]:
    """Return the files of tests outside the named groups, relative to the folder of tests."""
    files = (file.relative_to(TESTS) for file in sorted(TESTS.rglob("test_*.py")))
    return [file for file in files if not any(file.is_relative_to(group) for group in GROUPS)]


def test_every_file_of_tests_stands_where_its_module_does() -> None:
    assert [str(test) for test in files_of_modules() if not has_module(test)] == []


@pytest.mark.parametrize("name", ["facts/test_folding.py", "app/test_facts.py", "nowhere/test_fold.py"])
def test_a_file_of_tests_without_a_module_is_noticed(name: str) -> None:
    assert not has_module(Path(name))


@pytest.mark.parametrize("group", GROUPS)
def test_every_group_of_tests_exists(group: str) -> None:
    assert list((TESTS / group).glob("test_*.py"))


def test_the_longest_chain_of_imports_in_control_has_few_levels() -> None:
    graph = grimp.build_graph("headgate")

    @cache
    def levels(module: str) -> int:
        inner = (
            each for each in graph.find_modules_directly_imported_by(module) if each.startswith("headgate.control")
        )
        return 1 + max(map(levels, inner), default=0)

    modules = [module for module in graph.modules if module.startswith("headgate.control")]
    assert max(map(levels, modules)) <= MOST_LEVELS


def test_every_package_of_the_guard_has_a_purpose_in_the_architecture() -> None:
    described = re.findall(r"\]\(\.\./src/headgate/spark/guard/scala/(\w+)\) \| \S", ARCHITECTURE.read_text())
    assert sorted(described) == sorted(each.name for each in GUARD.iterdir())


@pytest.mark.parametrize("source", sorted(GUARD.rglob("*.scala")), ids=lambda path: path.stem)
def test_a_file_of_the_guard_lies_in_the_folder_of_its_package(source: Path) -> None:
    declared = source.read_text().split("\n", 1)[0]
    assert declared == f"package io.headgate.guard.{source.parent.name}" or declared.startswith(
        "package org.apache.spark"
    )
