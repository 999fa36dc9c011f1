"""The recipes of CONTRIBUTING for newcomers name every file that they change, and these are few.

The test carries out each recipe with an example on a copy of the package. `recipes/<recipe>.yaml` has the lines to add,
and `recipes/<recipe>.py` checks that the example works.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "headgate"
RECIPES = Path(__file__).with_name("recipes")


def recipe(name: str) -> Mapping[str, Any]:
    return yaml.safe_load((RECIPES / f"{name}.yaml").read_text(encoding="utf-8"))


def carry_out(name: str, package: Path) -> None:
    """Add the lines of the recipe, and of the recipe that must come first, to a copy of the package."""
    said = recipe(name)
    if "first" in said:
        carry_out(said["first"], package)
    for file, content in said["files"].items():
        path = package / file
        if isinstance(content, str):
            assert not path.exists()
            path.write_text(content, encoding="utf-8")
        else:
            path.write_text(with_lines(path.read_text(encoding="utf-8"), content), encoding="utf-8")


def with_lines(text: str, additions: list[Mapping[str, str]]) -> str:
    """Return the text with lines added, each after a line that occurs once in it."""
    for each in additions:
        lines = text.splitlines(keepends=True)
        places = [number for number, line in enumerate(lines, 1) if line.rstrip("\n") == each["after"]]
        assert len(places) == 1, (
            f"the recipe adds a line after `{each['after']}`, which must occur once; it occurs {len(places)} times"
        )
        text = "".join((*lines[: places[0]], each["add"], *lines[places[0] :]))
    return text


def changed_files(package: Path) -> Iterator[str]:
    """Yield the files of a copy that the package does not have, or has with other contents."""
    for path in package.rglob("*"):
        name = path.relative_to(package)
        known = PACKAGE / name
        if (
            path.is_file()
            and path.suffix != ".pyc"
            and not (known.exists() and known.read_bytes() == path.read_bytes())
        ):
            yield f"src/headgate/{name}"


def named_files(said: Mapping[str, Any]) -> list[str]:
    """Return the files with which the steps of a recipe begin in CONTRIBUTING."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (steps,) = re.findall(rf"^### {said['heading']}\n(.*?)(?=^##)", text, re.MULTILINE | re.DOTALL)
    files = re.findall(r"^\d+\. `(src/headgate/[^`]+)`", steps, re.MULTILINE)
    return [re.sub(r"<(\w+)>", lambda word: said["names"][word[1]], file) for file in files]


@pytest.fixture(scope="module", params=sorted(each.stem for each in RECIPES.glob("*.yaml")))
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def package(name: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package in which the recipe is carried out."""
    copy = tmp_path_factory.mktemp(name) / "headgate"
    shutil.copytree(PACKAGE, copy)
    carry_out(name, copy)
    return copy


def test_a_recipe_names_the_files_that_it_takes(name: str, package: Path) -> None:
    assert sorted(changed_files(package)) == sorted(named_files(recipe(name)))


def test_a_recipe_takes_few_files(name: str, package: Path) -> None:
    assert len(list(changed_files(package))) <= recipe(name)["most_files"]


def test_the_dummy_of_a_recipe_works(name: str, package: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-B", "-m", f"tests.repo.recipes.{name}", tmp_path],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(package.parent)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
