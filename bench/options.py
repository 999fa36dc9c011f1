"""The command line of a measurement: its sizes, and its parts if it has several."""

import argparse
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, TypeVar

E = TypeVar("E")


def chosen(
    prog: str, about: str | None, parts: Sequence[str], usual: E, quick: E, arguments: Sequence[str] | None
) -> tuple[list[str], E]:
    """Return the chosen parts and sizes: each size of the dataclass `usual` is an option."""
    every = ",".join(parts)
    parser = argparse.ArgumentParser(prog=prog, description=about)
    parser.add_argument("--only", default=every, help=f"parts, separated by commas; default: {every}")
    _add_sizes(parser, usual)
    said = parser.parse_args(arguments)
    only = said.only.split(",")
    if unknown := [name for name in only if name not in parts]:
        parser.error(f"there is no part `{unknown[0]}`; choose from {', '.join(parts)}")
    return only, _sizes(said, usual, quick)


def chosen_sizes(
    prog: str, about: str | None, usual: E, quick: E, arguments: Sequence[str] | None = None
) -> tuple[E, bool]:
    """Return the chosen sizes of a measurement without parts, and whether the run is quick: then it may miss its targets."""
    parser = argparse.ArgumentParser(prog=prog, description=about)
    _add_sizes(parser, usual)
    said = parser.parse_args(arguments)
    return _sizes(said, usual, quick), said.quick


def _add_sizes(parser: argparse.ArgumentParser, usual: object) -> None:
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it work?")
    for each in fields(usual):  # pyright: ignore[reportArgumentType] (a dataclass)
        parser.add_argument(f"--{each.name}", type=type(each.default), help=f"default: {getattr(usual, each.name):,}")


def _sizes(said: argparse.Namespace, usual: E, quick: E) -> E:
    base = quick if said.quick else usual
    given = {each.name: getattr(said, each.name) for each in fields(usual)}  # pyright: ignore[reportArgumentType]
    chosen: dict[str, Any] = {name: getattr(base, name) if size is None else size for name, size in given.items()}
    return type(usual)(**chosen)
