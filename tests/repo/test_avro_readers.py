"""No module uses PyIceberg's readers of Avro files: their compiled decoder follows lengths beyond its buffer."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path("src/headgate")
READERS = ("pyiceberg.manifest", "pyiceberg.avro", "pyiceberg.table.inspect", "fastavro", "avro")
REVIEWED = {"src/headgate/lake/relocation.py: fastavro"}
"""The module that rewrites manifests for `headgate warehouse move`, in the operator's own process."""
METHODS = {"fetch_manifest_entry", "read_manifest_list", "plan_files", "inspect"}


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the full name of every object that a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{each.name}" for each in node.names)


def test_no_module_imports_a_reader_of_avro_files() -> None:
    found = {
        f"{file}: {name}"
        for file in SOURCES.rglob("*.py")
        for name in imported(ast.parse(file.read_text("utf-8")))
        if any(name == each or name.startswith(f"{each}.") for each in READERS)
    }

    assert found == REVIEWED


def test_no_process_that_serves_loads_what_rewrites_manifests() -> None:
    loads = "import sys, headgate.app.server, headgate.app.http.application, headgate.app.worker; print('fastavro' in sys.modules)"

    said = subprocess.run((sys.executable, "-c", loads), capture_output=True, check=True, text=True)

    assert said.stdout.strip() == "False"


def test_no_module_of_the_lake_calls_what_reads_manifests() -> None:
    found = {
        f"{file}: {node.attr}"
        for folder in ("lake", "endpoints/iceberg_rest")
        for file in (SOURCES / folder).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in METHODS
    } - {"src/headgate/lake/file_parsers.py: read_manifest_list", "src/headgate/lake/manifests.py: read_manifest_list"}

    assert found == set()
