"""The generated page of plan classes: every class of Spark and Iceberg with its entry in the guard's tables."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from headgate.spark.toolchain.guard_build import SOURCES
from headgate.spark.toolchain.jars import ICEBERG, spark_jars
from tests.spark.guard.class_files import classes, concrete

TABLES = SOURCES / "resources" / "headgate"
PLAN = "org.apache.spark.sql.catalyst.plans.logical.LogicalPlan"
EXPRESSION = "org.apache.spark.sql.catalyst.expressions.Expression"
_JARS = {"catalyst": "sql/", "sql": "sql/", "sql-api": "sql/", "connect": "sql/", "hive": "sql/", "mllib": "ml/"}
"""The jars of Spark with plan classes, each with the folder below `org/apache/spark/` that contains them."""
_OF_ICEBERG = ("org/apache/iceberg/spark/", "org/apache/spark/")
_HEAD = """\
# Plan classes

Spark makes a plan of every statement, and the guard checks every node of it: plans, commands and expressions. It refuses
every class that is not in its tables (`plan-classes.txt` and `expressions.txt`). This page compares the tables with all
classes of PySpark {spark} and Iceberg {iceberg}. It is generated: with another Spark it shows the classes without a
review, which are all refused.

A need is a verb on the object in a field of the node; *decided in code* means that it follows from more than one field.
"""
_WHEN = {"always": "may run", "parsed": "until it is resolved"}


@dataclass(frozen=True, slots=True)
class Row:
    """The entry of one plan class in the table."""

    name: str
    when: str
    needs: tuple[str, ...]
    why: str


def on_classpath(iceberg_jar: Path) -> tuple[set[str], set[str]]:
    """Return the names of the concrete plan and expression classes; a Scala object has the name of its class."""
    spark = {
        jar: (lambda path, below=below: path.startswith(f"org/apache/spark/{below}"))
        for part, below in _JARS.items()
        for jar in spark_jars().glob(f"spark-{part}_*.jar")
    }
    found = classes({**spark, iceberg_jar: lambda path: path.startswith(_OF_ICEBERG)})
    return _named(concrete(found, PLAN)), _named(concrete(found, EXPRESSION))


def plan_rows() -> list[Row]:
    """Return the table of plan classes."""
    return [_row(words, why) for words, why in _lines("plan-classes.txt")]


def expressions() -> list[str]:
    """Return the expression classes that a statement may contain."""
    return [words[0] for words, _ in _lines("expressions.txt")]


def page(plans: set[str], found: set[str]) -> str:
    """Return the page for the plan and expression classes on the classpath."""
    rows, allowed = plan_rows(), expressions()
    parts = (
        _HEAD.format(spark=version("pyspark"), iceberg=ICEBERG.version),
        f"## Plans and commands that are allowed: {len(rows)}\n",
        "| class | when | needs | why |\n|---|---|---|---|",
        *(_line(row) for row in sorted(rows, key=lambda row: _short(row.name))),
        f"\n## Plans and commands without a review, which are refused: {len(plans - _names(rows))}\n",
        *_listed(plans - _names(rows)),
        f"\n## Expressions that are allowed: {len(allowed)}\n",
        *_listed(allowed),
        f"\n## Expressions without a review, which are refused: {len(found - set(allowed))}\n",
        *_listed(found - set(allowed)),
    )
    return "\n".join(parts) + "\n"


def _lines(name: str) -> Iterator[tuple[list[str], str]]:
    for line in (TABLES / name).read_text(encoding="utf-8").splitlines():
        said, _, why = line.partition("#")
        if said.strip():
            yield said.split(), why.strip()


def _row(words: Sequence[str], why: str) -> Row:
    name, when, *needs = words
    return Row(name, when, tuple(need for need in needs if need != "-"), why)


def _line(row: Row) -> str:
    needs = ", ".join(_need(need) for need in row.needs) or "-"
    return f"| {_short(row.name)} | {_WHEN[row.when]} | {needs} | {row.why} |"


def _need(need: str) -> str:
    if need.startswith("="):
        return "decided in code"
    verb, _, field = need.partition(":")
    return f"{verb} `{field}`"


def _listed(names: Iterable[str]) -> Iterator[str]:
    """Yield one paragraph for each package."""
    packages: Mapping[str, list[str]] = {}
    for name in sorted(names):
        packages.setdefault(name.rpartition(".")[0], []).append(_short(name))
    return (f"`{package}`: {', '.join(short)}.\n" for package, short in packages.items())


def _short(name: str) -> str:
    return f"`{name.rpartition('.')[2]}`"


def _names(rows: Iterable[Row]) -> set[str]:
    return {row.name for row in rows}


def _named(found: Iterable[str]) -> set[str]:
    return {name.removesuffix("$") for name in found}
