"""The examples of PySpark's documentation, and our own cases, which are written in the same form (`cases/*.pycon`)."""

import doctest
import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from tools.compatibility.jobs import Job, chunks

CASES: Final = Path(__file__).parent / "cases"
CASES_SUFFIX: Final = ".pycon"
MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "api": (
        *("pyspark.sql.functions.builtin", "pyspark.sql.functions.partitioning", "pyspark.sql.dataframe"),
        *("pyspark.sql.column", "pyspark.sql.group", "pyspark.sql.readwriter", "pyspark.sql.catalog"),
        *("pyspark.sql.session", "pyspark.sql.window", "pyspark.sql.tvf", "pyspark.sql.conf"),
        *("pyspark.sql.observation", "pyspark.sql.types", "pyspark.sql.udf", "pyspark.sql.udtf"),
        *("pyspark.sql.datasource", "pyspark.sql.streaming.query", "pyspark.sql.streaming.readwriter"),
        *("pyspark.sql.pandas.group_ops", "pyspark.sql.pandas.functions", "pyspark.sql.plot.core"),
        "pyspark.sql.table_arg",
    ),
    "ml": tuple(
        f"pyspark.ml.{each}"
        for each in (
            *("feature", "classification", "regression", "clustering", "recommendation", "stat"),
            *("evaluation", "tuning", "fpm", "functions"),
        )
    ),
    "pandas": tuple(f"pyspark.pandas.{each}" for each in ("frame", "series", "namespace", "groupby")),
}
"""Part of a comparison -> the modules whose documentation is run."""
_MOST_EXAMPLES: Final = 250
"""A larger module is divided into several jobs, so that shards can have equal sizes."""


def documents_of(source: str) -> dict[str, doctest.DocTest]:
    """Return the documents with examples of a module, or of a file of cases, by name. Raises `ImportError`."""
    if source.endswith(CASES_SUFFIX):
        return parse_cases((CASES / source).read_text(encoding="utf-8"), source)
    module = importlib.import_module(source)
    found: dict[str, doctest.DocTest] = {}
    texts: set[str] = set()
    for document in sorted(doctest.DocTestFinder().find(module), key=lambda each: each.name):
        # A method that several classes inherit has its text in each of them.
        if document.examples and document.docstring and document.docstring not in texts:
            texts.add(document.docstring)
            found[document.name] = document
    return found


def parse_cases(text: str, file: str) -> dict[str, doctest.DocTest]:
    """Return the documents of a file of cases: each begins with a line `# name`."""
    found: dict[str, doctest.DocTest] = {}
    for section in text.split("\n# ")[1:]:
        name, _, examples = section.partition("\n")
        if name in found:
            raise ValueError(f"`{file}` has the section `{name}` twice")
        found[name] = doctest.DocTestParser().get_doctest(examples, {}, name, file, 0)
    return found


def case_jobs() -> list[Job]:
    """Return the jobs of our own cases."""
    files = sorted(CASES.glob(f"*{CASES_SUFFIX}"))
    return [_job(f"cases/{file.stem}", file.name, documents_of(file.name)) for file in files]


def module_jobs(part: str, say: Callable[[str], None]) -> list[Job]:
    """Return the jobs of the modules of a part; a module that cannot be imported is reported and left out."""
    found: list[Job] = []
    for module in MODULES[part]:
        try:
            documents = documents_of(module)
        except ImportError as error:
            say(f"left out: {module} cannot be imported ({error})")
            continue
        found += divide(module, documents)
    return found


def divide(module: str, documents: Mapping[str, doctest.DocTest]) -> list[Job]:
    """Return the jobs of a module: one, or several of limited size."""
    names = list(documents)
    ranges = chunks([len(each.examples) for each in documents.values()], _MOST_EXAMPLES)
    if len(ranges) == 1:
        return [_job(module, module, documents)]
    return [
        _job(f"{module}.{number}", module, {name: documents[name] for name in names[first:end]})
        for number, (first, end) in enumerate(ranges, start=1)
    ]


def _job(name: str, source: str, documents: Mapping[str, doctest.DocTest]) -> Job:
    sources: Sequence[str] = [each.source for document in documents.values() for each in document.examples]
    return Job(name, tuple(sources), source=source, documents=tuple(documents))
