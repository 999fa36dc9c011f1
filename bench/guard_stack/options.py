"""The command line of a measurement: its parts and sizes."""

import argparse
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, TypeVar

E = TypeVar("E")


def chosen(
    prog: str, about: str | None, parts: Sequence[str], usual: E, quick: E, arguments: Sequence[str] | None
) -> tuple[list[str], E]:
    """Return the chosen parts and sizes: each size of the dataclass `usual` is an option."""
    every, sizes = ",".join(parts), fields(usual)  # pyright: ignore[reportArgumentType] (a dataclass)
    parser = argparse.ArgumentParser(prog=prog, description=about)
    parser.add_argument("--only", default=every, help=f"parts, separated by commas; default: {every}")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it work?")
    for each in sizes:
        parser.add_argument(f"--{each.name}", type=type(each.default), help=f"default: {each.default:,}")
    said = parser.parse_args(arguments)
    only = said.only.split(",")
    if unknown := [name for name in only if name not in parts]:
        parser.error(f"there is no part `{unknown[0]}`; choose from {', '.join(parts)}")
    base = quick if said.quick else usual
    given: dict[str, Any] = {each.name: getattr(said, each.name) for each in sizes}
    return only, type(usual)(**{name: getattr(base, name) if value is None else value for name, value in given.items()})
