"""Checks the sizes of functions and modules against the limits of CONTRIBUTING.md.

Non-blank lines count, docstrings of functions do not. Prints what is too long and exits with 1, or prints one line of figures.
"""

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "tests", "tools", "bench")
FUNCTION_LINES = 60
MODULE_LINES = 400
NINE_IN_TEN = 20
"""Nine in ten functions of `src` are at most this long."""

EXCEPTIONS: Mapping[str, str] = {
    "src/headgate/model/diagnostic_codes.py": "a table of the diagnostics, which grows with the language",
    "tests/conformance/validate.py": "the suite's own checker, kept as it was delivered",
}
"""Files that may be longer, each with its reason."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function: its file, line and name, and its length in lines."""

    place: str
    lines: int


def main() -> int:
    """Check the whole repository; return the exit status."""
    sources = {str(path.relative_to(ROOT)): path.read_text() for path in _python_files()}
    complaints = too_long(sources)
    own = sorted(
        function.lines
        for place, text in sources.items()
        if place.startswith("src/")
        for function in functions(place, text)
    )
    if own and ninth_decile(own) > NINE_IN_TEN:
        complaints.append(
            f"src: nine in ten functions should be at most {NINE_IN_TEN} lines, and are {ninth_decile(own)}"
        )
    if complaints:
        print("\n".join(complaints))
        return 1
    print(
        f"{len(sources)} modules, {len(own)} functions in src: nine in ten at most {ninth_decile(own)} lines, longest {own[-1]}"
    )
    return 0


def too_long(sources: Mapping[str, str]) -> list[str]:
    """Return one sentence for each module and function of `sources` (place -> text) above its limit."""
    complaints: list[str] = []
    for place, text in sorted(sources.items()):
        if place in EXCEPTIONS:
            continue
        length = _non_blank(text.splitlines())
        if length > MODULE_LINES:
            complaints.append(f"{place}: {length} lines, a module has at most {MODULE_LINES}")
        complaints += [
            f"{function.place}: {function.lines} lines, a function has at most {FUNCTION_LINES}"
            for function in functions(place, text)
            if function.lines > FUNCTION_LINES
        ]
    return complaints


def functions(place: str, text: str) -> Iterator[Function]:
    """Yield every function and method of a module."""
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            whole = _non_blank(lines[node.lineno - 1 : node.end_lineno])
            yield Function(f"{place}:{node.lineno} {node.name}", whole - _docstring_lines(node, lines))


def ninth_decile(lengths: Sequence[int]) -> int:
    """Return the length that nine in ten of the sorted `lengths` do not exceed."""
    return lengths[(len(lengths) * 9 - 1) // 10]


def _docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef, lines: Sequence[str]) -> int:
    if ast.get_docstring(node, clean=False) is None:
        return 0
    first = node.body[0]
    return _non_blank(lines[first.lineno - 1 : first.end_lineno])


def _non_blank(lines: Sequence[str]) -> int:
    return sum(1 for line in lines if line.strip())


def _python_files() -> Iterator[Path]:
    for folder in FOLDERS:
        yield from (path for path in sorted((ROOT / folder).rglob("*")) if path.is_file() and _is_python(path))


def _is_python(path: Path) -> bool:
    """Whether the file is Python, by its suffix or, without a suffix, by its first line."""
    if path.suffix:
        return path.suffix == ".py"
    with path.open("rb") as file:
        return b"python" in file.readline()


if __name__ == "__main__":
    sys.exit(main())
