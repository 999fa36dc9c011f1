"""Errors of Spark are converted to text in one place: no other handler puts such an error into a message."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "src" / "headgate"
SPARK = ("PySparkException", "AnalysisException", "SparkConnectException", "SparkConnectGrpcException", "RpcError")
"""Classes of Spark's errors in handlers and parameters."""
ANYTHING = ("Exception", "BaseException")
NEAR_SPARK = ("pipelines", "spark")
"""Packages in which an error of any class may come from Spark."""
TEXT = ("str", "repr", "format")
LOGGED = {
    "spark/driver/driver.py": "what keeps a driver from starting: for the operator, and masked by the gateway",
}


def names(node: ast.expr | None) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} if node is not None else set()


def errors(tree: ast.AST, known: tuple[str, ...]) -> Iterator[tuple[str, ast.AST]]:
    """Yield the name of each variable for an error of these classes, with the code that can use it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and node.name and names(node.type) & set(known):
            yield node.name, node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for argument in node.args.args:
                if names(argument.annotation) & set(known):
                    yield argument.arg, node


def as_text(name: str, code: ast.AST) -> Iterator[int]:
    """Yield the lines where an error becomes text, apart from comparisons, which show nothing."""
    compared = {id(each) for node in ast.walk(code) if isinstance(node, ast.Compare) for each in ast.walk(node)}
    for node in ast.walk(code):
        if id(node) in compared:
            continue
        if isinstance(node, ast.FormattedValue) and isinstance(node.value, ast.Name) and node.value.id == name:
            yield node.lineno
        if isinstance(node, ast.Call) and names(node.func) & set(TEXT) and name in map(ast.unparse, node.args):
            yield node.lineno


def found_in(source: str, *, near_spark: bool) -> list[int]:
    known = (*SPARK, *ANYTHING) if near_spark else SPARK
    return sorted({line for name, code in errors(ast.parse(source), known) for line in as_text(name, code)})


def modules() -> list[Path]:
    return sorted(SOURCES.rglob("*.py"))


@pytest.mark.parametrize("module", modules(), ids=lambda path: path.relative_to(SOURCES).as_posix())
def test_no_module_but_one_turns_an_error_of_sparks_into_text(module: Path) -> None:
    name = module.relative_to(SOURCES).as_posix()
    found = found_in(module.read_text(encoding="utf-8"), near_spark=name.startswith(NEAR_SPARK))

    assert bool(found) == (name in LOGGED), (name, found)


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("try: x()\nexcept PySparkException as e:\n    raise A(str(e))", [3]),
        ("try: x()\nexcept PySparkException as e:\n    raise A(f'no: {e}')", [3]),
        ("def a(e: PySparkException):\n    return repr(e)", [2]),
        ("try: x()\nexcept PySparkException as e:\n    return 'x' in str(e)", []),
        ("try: x()\nexcept ValueError as e:\n    return str(e)", []),
    ],
)
def test_an_error_that_becomes_text_is_found(source: str, lines: list[int]) -> None:
    assert found_in(source, near_spark=False) == lines
