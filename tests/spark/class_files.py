"""The class hierarchy in jars, read from the class files alone: no JVM, and nothing of them is run."""

import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_UTF8, _CLASS = 1, 7
_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
"""How many bytes follow each tag of a constant pool, but for text."""
_TWO_PLACES = (5, 6)
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
    count = struct.unpack_from(">H", content, 8)[0]
    texts, named, at, index = dict[int, str](), dict[int, int](), 10, 1
    while index < count:
        tag = content[at]
        if tag == _UTF8:
            length = struct.unpack_from(">H", content, at + 1)[0]
            texts[index] = content[at + 3 : at + 3 + length].decode("utf-8", "replace")
            at += 3 + length
        else:
            if tag == _CLASS:
                named[index] = struct.unpack_from(">H", content, at + 1)[0]
            at += 1 + _SIZES[tag]
        index += 2 if tag in _TWO_PLACES else 1
    access, this, above, interfaces = struct.unpack_from(">4H", content, at)
    parents = (above, *struct.unpack_from(f">{interfaces}H", content, at + 8))
    names = tuple(texts[named[each]].replace("/", ".") for each in parents if each)
    return ClassFile(texts[named[this]].replace("/", "."), names, bool(access & _ABSTRACT))
