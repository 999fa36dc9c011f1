"""Statements composed from the grammar, each with its needs, and the reduction of failing statements."""

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tools.bypass_corpus.cases import Case, Need

_FILE = Path(__file__).with_name("grammar.yaml")
_HOLE = re.compile(r"\{(q|t|k|v)(\.database|\.table)?(!sql|!py)?\}")


@dataclass(frozen=True, slots=True)
class Grammar:
    """The parts of the grammar: templates with holes, and the tables with the expressions of their two columns."""

    tables: Mapping[str, Sequence[str]]
    leaves: Sequence[str]
    queries: Sequence[str]
    statements: Sequence[tuple[str, str]]
    """The kind of case, and the template."""


@dataclass(frozen=True, slots=True)
class Part:
    """A template with its holes filled: the queries in order, and the tables of the template itself."""

    template: str
    queries: tuple["Part", ...] = ()
    table: str = ""

    def text(self) -> str:
        """Return the text of the part."""
        queries = iter(self.queries)

        def filled(hole: re.Match[str]) -> str:
            text = next(queries).text() if hole[1] == "q" else self._named(hole[1], hole[2])
            return _written(text, hole[3])

        return _HOLE.sub(filled, self.template).replace("{{", "{").replace("}}", "}")

    def tables(self) -> frozenset[str]:
        """Return every table that the part reads."""
        own = frozenset({self.table} if self.table else ())
        return own.union(*(each.tables() for each in self.queries))

    def smaller(self) -> Iterator["Part"]:
        """Yield smaller parts, in each of which a part of one query replaces the query; the largest reduction first."""
        for place, query in enumerate(self.queries):
            for less in (*query.queries, *_plain(query), *query.smaller()):
                yield replace(self, queries=(*self.queries[:place], less, *self.queries[place + 1 :]))

    def _named(self, hole: str, of: str | None) -> str:
        if hole != "t":
            return grammar().tables[self.table]["kv".index(hole)]
        _, database, table = self.table.split(".")
        return {None: self.table, ".database": database, ".table": table}[of]


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of the grammar, which can be written as a case of the corpus."""

    id: str
    kind: str
    part: Part

    def case(self) -> Case:
        """Return the case, which needs to read every table of the statement."""
        needs: tuple[Need, ...] = tuple(("read", table) for table in sorted(self.part.tables()))
        return Case(self.id, self.kind, self.part.text(), needs)


@cache
def grammar() -> Grammar:
    """Return the grammar in the file."""
    stated: Mapping[str, Any] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    statements = [(kind, each) for kind, templates in stated["statements"].items() for each in templates]
    return Grammar(stated["tables"], stated["leaves"], stated["queries"], statements)


def compose(seed: int, count: int, depth: int = 3) -> Iterator[Statement]:
    """Yield `count` statements, the same ones for the same seed.

    No kind of statement is repeated before every kind has occurred.
    """
    chance = random.Random(seed)  # noqa: S311 (the same statements for the same seed)
    kinds: list[tuple[str, str]] = []
    for number in range(count):
        kinds = kinds or chance.sample(grammar().statements, len(grammar().statements))
        kind, template = kinds.pop()
        yield Statement(f"fuzz-{seed}-{number:04}", kind, _fill(template, chance, depth))


def shrink(statement: Statement, fails: Callable[[Statement], bool]) -> Statement:
    """Return the smallest statement that still fails; reduce one part at a time."""
    while True:
        tried = (replace(statement, part=part) for part in statement.part.smaller())
        less = next((each for each in tried if fails(each)), None)
        if less is None:
            return statement
        statement = less


def _fill(template: str, chance: random.Random, depth: int) -> Part:
    holes = [hole[1] for hole in _HOLE.finditer(template)]
    table = chance.choice(sorted(grammar().tables)) if set(holes) - {"q"} else ""
    return Part(template, tuple(_query(chance, depth) for hole in holes if hole == "q"), table)


def _query(chance: random.Random, depth: int) -> Part:
    inner = depth > 0 and chance.random() < 0.7
    return _fill(chance.choice(grammar().queries if inner else grammar().leaves), chance, depth - 1)


def _plain(part: Part) -> tuple[Part, ...]:
    plain = grammar().leaves[0]
    return (replace(part, template=plain),) if part.table and part.template != plain else ()


def _written(text: str, conversion: str | None) -> str:
    if conversion == "!py":
        return repr(text)
    if conversion == "!sql":
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return text
