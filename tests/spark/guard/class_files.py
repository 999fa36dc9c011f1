"""The class hierarchy in jars, read from the class files alone: no JVM, and nothing of them is run."""

import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.spark.guard.bytecode import read_constants

_ABSTRACT = 0x0400
_NO_PLANS = ("$anon", "/parser/", "/proto/", "/codegen/")
"""What compilers made: half of all classes, and never a plan."""


@dataclass(frozen=True, slots=True)
class ClassFile:
    """What a class says of itself; interfaces are abstract."""

    name: str
    parents: tuple[str, ...]
    is_abstract: bool


def classes(jars: Mapping[Path, Callable[[str], bool]]) -> dict[str, ClassFile]:
    """Return the classes of the jars, by name, as far as each jar's test of a path wants them."""
    return {found.name: found for jar, wanted in jars.items() for found in _read(jar, wanted)}


def concrete(found: Mapping[str, ClassFile], root: str) -> set[str]:
    """Return the names of the classes that are a `root` and can be made."""
    known: dict[str, bool] = {root: True}

    def descends(name: str) -> bool:
        if name not in known:
            known[name] = name in found and any(map(descends, found[name].parents))
        return known[name]

    return {each.name for each in found.values() if not each.is_abstract and descends(each.name)}


def _read(jar: Path, wanted: Callable[[str], bool]) -> Iterator[ClassFile]:
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            if name.endswith(".class") and not any(part in name for part in _NO_PLANS) and wanted(name):
                yield _parse(archive.read(name))


def _parse(content: bytes) -> ClassFile:
    constants = read_constants(content)
    texts, named, at = constants.texts, constants.pool, constants.end
    access, this, above, interfaces = struct.unpack_from(">4H", content, at)
    parents = (above, *struct.unpack_from(f">{interfaces}H", content, at + 8))
    names = tuple(texts[named[each]].replace("/", ".") for each in parents if each)
    return ClassFile(texts[named[this]].replace("/", "."), names, bool(access & _ABSTRACT))
