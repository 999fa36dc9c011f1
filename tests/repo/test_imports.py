"""The import contract fails on each import that it forbids."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the sources and of the contract, in which a test may add forbidden imports."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint(tree: Path) -> subprocess.CompletedProcess[str]:
    """Check the contract on a copy; the sources of the copy take precedence over the installed ones."""
    return subprocess.run(
        [LINT_IMPORTS, "--no-logo", "--no-cache"],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree / "src"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def plant(tree: Path, module: str, line: str) -> None:
    """Append a line to a module of the copy; create the module and its package if they do not exist."""
    path = tree / "src" / "headgate" / module
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(f"\n{line}\n")


class TestContract:
    def test_the_sources_obey_the_import_contract(self, tree: Path) -> None:
        checked = lint(tree)

        assert checked.returncode == 0, checked.stdout

    @pytest.mark.parametrize(
        ("module", "line", "broken"),
        [
            pytest.param(
                "facts/__init__.py", "import headgate.control", "headgate.facts", id="an import of an outer package"
            ),
            pytest.param(
                "lake/__init__.py", "import headgate.spark", "headgate.lake", id="an import of a sibling package"
            ),
            pytest.param("decision/__init__.py", "import time", "headgate.decision", id="a clock in a pure package"),
            pytest.param("model/__init__.py", "import os", "headgate.model", id="the environment in a pure package"),
            pytest.param("facts/__init__.py", "import sqlalchemy", "headgate.facts", id="a database in a pure package"),
            pytest.param(
                "endpoints/__init__.py",
                "import headgate.store",
                "headgate.endpoints",
                id="an import of the store in an endpoint",
            ),
            pytest.param("lake/__init__.py", "import sqlalchemy", "headgate.lake", id="SQL outside the store"),
        ],
    )
    def test_the_import_contract_breaks_on_a_forbidden_import(
        self, tree: Path, module: str, line: str, broken: str
    ) -> None:
        plant(tree, module, line)

        checked = lint(tree)

        assert checked.returncode == 1
        assert "BROKEN" in checked.stdout
        assert broken in checked.stdout.split("Broken contracts")[-1]

    def test_the_import_contract_breaks_on_an_undeclared_package(self, tree: Path) -> None:
        plant(tree, "annex/__init__.py", '"""A package of its own."""')

        checked = lint(tree)

        assert checked.returncode != 0
        assert "annex" in checked.stdout
