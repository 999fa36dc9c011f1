"""The class hierarchy of jars, read from the class files alone: it needs no JVM and runs none of their code."""

import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.spark.guard.bytecode import read_constants

_ABSTRACT = 0x0400
_NO_PLANS = ("$anon", "/parser/", "/proto/", "/codegen/")
"""Parts of paths of generated classes: half of all classes, and never a plan."""


@dataclass(frozen=True, slots=True)
class ClassFile:
    """The name, the parents and the abstract flag of a class; interfaces are abstract."""

    name: str
    parents: tuple[str, ...]
    is_abstract: bool


def classes(jars: Mapping[Path, Callable[[str], bool]]) -> dict[str, ClassFile]:
    """Return the classes of the jars, by name; each jar has a predicate that selects paths."""
    return {found.name: found for jar, wanted in jars.items() for found in _read(jar, wanted)}


def concrete(found: Mapping[str, ClassFile], root: str) -> set[str]:
    """Return the names of the concrete classes that descend from `root`."""
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
