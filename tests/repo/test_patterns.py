"""Regular expressions take time linear in the length of the text: callers choose the texts, and `re` blocks all other work."""

import importlib
import inspect
import pkgutil
import re
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

import pytest

import headgate

LENGTH: Final = 20_000
SECONDS: Final = 0.25
"""CPU time: hundreds of times that of a linear pattern, and a fraction of that of a quadratic one."""
BEGINNINGS: Final = ("", "a", "(", "'", "`", "geography('a,", "/", "SubqueryAlias a", "SubqueryAlias `")
UNITS: Final = (
    "a", "1", ".", "-", "_", " ", "\n", "\t", "(", ")", "[", "'", '"', "`", "/", "\\", ":", ",", ";", "*", "@", "%", "+", "\u00e9",
    "\u0301", "{", "#", "=", "--", "/*", "*/", "``", "''", "a.", "a,", "1.", "a/", "/a", " /", "\n ", "::", "x'",
    "\\'", '\\"', "/* ", "-- ", '"" ',
)  # fmt: skip
OF_WHOLE_TEXTS: Final = frozenset(
    {
        "headgate.control.connections.commands._HOST",
        "headgate.control.egress.hosts._NAME",
        "headgate.control.kernel.ids._ID",
        "headgate.control.authentication.secrets._WRITTEN",
        "headgate.control.kernel.login_normalization._ADDRESS",
        "headgate.control.catalog.table_properties._RANGE",
    }
)
"""Patterns that are matched against a whole text, and never searched for in one."""


@cache
def patterns() -> Mapping[str, re.Pattern[Any]]:
    """Return every pattern of every module, by the name of the first variable that has it."""
    found: dict[re.Pattern[Any], str] = {}
    for module in pkgutil.walk_packages(headgate.__path__, "headgate."):
        if module.name.rpartition(".")[2] != "__main__":
            for name, value in vars(importlib.import_module(module.name)).items():
                for pattern in _within(value):
                    found.setdefault(pattern, f"{module.name}.{name}")
    return {f"{name} {pattern.pattern!r:.40}": pattern for pattern, name in found.items()}


def _within(value: Any) -> Iterator[re.Pattern[Any]]:
    match value:
        case re.Pattern():
            yield value
        case tuple() | list() | frozenset() | set():
            for each in value:
                yield from _within(each)
        case dict():
            yield from _within(tuple(value.values()))
        case _:
            return


@contextmanager
def limited(said: str) -> Iterator[None]:
    """Fail if the block takes more CPU time than the limit; `re` checks for signals now and then."""

    def fail(*_: object) -> None:
        pytest.fail(f"takes more than {SECONDS} s for {LENGTH} characters: {said}")

    before = signal.signal(signal.SIGVTALRM, fail)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@pytest.mark.parametrize("name", patterns())
def test_no_pattern_takes_quadratic_time(name: str) -> None:
    pattern = patterns()[name]
    ways = [pattern.fullmatch] if name.partition(" ")[0] in OF_WHOLE_TEXTS else [pattern.fullmatch, pattern.search]

    for beginning in BEGINNINGS:
        for unit in UNITS:
            text: Any = f"{beginning}{unit * (LENGTH // len(unit))}\x01"
            text = text.encode() if isinstance(pattern.pattern, bytes) else text
            with limited(f"{beginning!r} and {unit!r} many times"):
                for find in ways:
                    find(text)


@pytest.mark.parametrize("name", sorted(OF_WHOLE_TEXTS))
def test_a_pattern_of_whole_texts_is_compared_with_nothing_else(name: str) -> None:
    module, _, variable = name.rpartition(".")
    source = inspect.getsource(importlib.import_module(module))

    assert set(re.findall(rf"\b{variable}\.(\w+)\(", source)) == {"fullmatch"}
