"""Only processes that draw a single chart load the native chart library, because it ends its process when it panics."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path("src/headgate")
LIBRARY = "vl_convert"
ITS_MODULE = "headgate.untrusted_input.charts"
LOADED_BY = {"untrusted_input/charts.py": LIBRARY, "untrusted_input/rewriters.py": ITS_MODULE}


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the full name of each module that a module can import, also by an argument of a function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def loads(file: Path) -> set[str]:
    """Return the imports of the library, and of the module that uses it, in a file."""
    names = set(imported(ast.parse(file.read_text("utf-8"))))
    return {each for each in (LIBRARY, ITS_MODULE) if any(f"{name}.".startswith(f"{each}.") for name in names)}


def test_no_module_but_that_of_the_process_for_one_chart_imports_the_library() -> None:
    found = {(str(file.relative_to(SOURCES)), each) for file in SOURCES.rglob("*.py") for each in loads(file)}

    assert found == set(LOADED_BY.items())


def test_no_process_that_serves_loads_the_library() -> None:
    text = "import sys, headgate.app.server, headgate.app.http.application, headgate.app.worker; print('vl_convert' in sys.modules)"

    said = subprocess.run((sys.executable, "-c", text), capture_output=True, check=True, text=True)

    assert said.stdout.strip() == "False"
