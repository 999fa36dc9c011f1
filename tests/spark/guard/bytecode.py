"""Readers of class files: constructors, names of parameters, and the names that the code refers to."""

import re
import struct
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
_UTF8, _REFERENCES, _TWO_PLACES = 1, (7, 8, 16, 19, 20), (5, 6)
_PAIRS, _METHODS = (9, 10, 11, 12), (10, 11)
_LDC, _LDC_WIDE, _GOTO, _RETURN = 0x12, 0x13, 0xA7, 0xB0
_TYPE = re.compile(r"[BCDFIJSZV]|\[|T[^;]+;|L(?:[^;<]|<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>)*;|[*+-]")
_PRIMITIVES = {
    "B": "byte",
    "C": "char",
    "D": "double",
    "F": "float",
    "I": "int",
    "J": "long",
    "S": "short",
    "Z": "boolean",
}


@dataclass(frozen=True, slots=True)
class Method:
    """A method: its erased signature, its generic signature and its code."""

    name: str
    descriptor: str
    signature: str
    code: bytes


@dataclass(slots=True)
class Bytecode:
    """One class file."""

    name: str
    texts: Mapping[int, str]
    pool: Mapping[int, int]
    """Index in the constant pool -> index of the text that the entry refers to."""
    calls: frozenset[tuple[str, str, str]] = frozenset()
    """The methods that the code calls: class, method and descriptor."""
    parents: tuple[str, ...] = ()
    methods: Sequence[Method] = field(default_factory=list[Method])

    def loads(self, method: str) -> Iterator[str]:
        """Yield the texts and class names that a method loads, in order.

        The scan reads every byte as an opcode, so it also yields a few texts that the method does not load.
        """
        for code in (each.code for each in self.methods if each.name == method):
            for at in range(len(code) - 2):
                if code[at] in (_LDC, _LDC_WIDE):
                    found = code[at + 1] if code[at] == _LDC else struct.unpack_from(">H", code, at + 1)[0]
                    if found in self.pool:
                        yield self.texts[self.pool[found]]

    def refers_to(self, word: str) -> bool:
        """Return whether a name or a text of the class contains the word."""
        return any(word in text for text in self.texts.values())

    def element_names(self) -> tuple[str, ...]:
        """Return the names of the elements of a case class, in order."""
        code = next((each.code for each in self.methods if each.name == "productElementName"), b"")
        return tuple(self._returned(code))

    def parameters(self) -> tuple[str, ...]:
        """Return the types of the parameters of a case class, in order: the parameters of its `copy` method."""
        made = [each for each in self.methods if each.name == "copy"] or [
            each for each in self.methods if each.name == "<init>"
        ]
        return types(made[0].signature or made[0].descriptor) if made else ()

    def _returned(self, code: bytes) -> Iterator[str]:
        """Yield the texts that the code loads only to return them."""
        for at in range(len(code) - 3):
            if code[at] == _LDC and code[at + 2] in (_GOTO, _RETURN) and code[at + 1] in self.pool:
                yield self.texts[self.pool[code[at + 1]]]
            elif code[at] == _LDC_WIDE and code[at + 3] in (_GOTO, _RETURN):
                found = struct.unpack_from(">H", code, at + 1)[0]
                if found in self.pool:
                    yield self.texts[self.pool[found]]


def types(signature: str) -> tuple[str, ...]:
    """Return the types of the parameters of a method, as Scala writes them, without packages."""
    inside = signature[signature.index("(") + 1 : signature.rindex(")")]
    return tuple(_written(each.group()) for each in _TYPE.finditer(inside) if each.group() != "[")


def read(jar: Path, prefix: str) -> dict[str, Bytecode]:
    """Return the classes of a jar whose path begins with the prefix, by name."""
    with zipfile.ZipFile(jar) as archive:
        names = [name for name in archive.namelist() if name.startswith(prefix) and name.endswith(".class")]
        return {found.name: found for found in (_parse(archive.read(name)) for name in names)}


def _written(text: str) -> str:
    if text in _PRIMITIVES:
        return _PRIMITIVES[text]
    if text in "*+-":
        return "?"
    if text[0] in "+-":
        return _written(text[1:])
    name, _, inside = text[1:-1].partition("<")
    short = re.split(r"[/$]", name)[-1] if not name.endswith("Enumeration$Value") else "Enumeration$Value"
    if not inside:
        return short
    return f"{short}<{','.join(_written(each.group()) for each in _TYPE.finditer(inside[:-1]))}>"


def _parse(content: bytes) -> Bytecode:
    constants = read_constants(content)
    texts, pool, at = constants.texts, constants.pool, constants.end
    _, this, above, interfaces = struct.unpack_from(">4H", content, at)
    parents = (above, *struct.unpack_from(f">{interfaces}H", content, at + 8))
    this, *parents = (texts[pool[each]].replace("/", ".") for each in (this, *parents) if each)
    found = Bytecode(this, texts, pool, frozenset(constants.calls()), tuple(parents))
    at += 8 + 2 * interfaces
    _, at = _members(content, at, texts)
    found.methods, _ = _members(content, at, texts)
    return found


@dataclass(frozen=True, slots=True)
class Constants:
    """The constant pool of a class file."""

    texts: dict[int, str]
    pool: dict[int, int]
    """The entries that refer to a text."""
    pairs: dict[int, tuple[int, int]]
    """The entries that refer to two other entries: a method refers to its class, and to its name and type."""
    methods: list[int]
    end: int
    """The offset in the file at which the pool ends."""

    def calls(self) -> Iterator[tuple[str, str, str]]:
        """Yield the class, the name and the descriptor of each method reference."""
        for owner, method in (self.pairs[each] for each in self.methods):
            name, descriptor = self.pairs[method]
            yield self.texts[self.pool[owner]], self.texts[name], self.texts[descriptor]


def read_constants(content: bytes) -> Constants:
    """Return the constant pool of a class file."""
    count = struct.unpack_from(">H", content, 8)[0]
    texts, pool, pairs, methods = dict[int, str](), dict[int, int](), dict[int, tuple[int, int]](), list[int]()
    at, index = 10, 1
    while index < count:
        tag = content[at]
        if tag == _UTF8:
            length = struct.unpack_from(">H", content, at + 1)[0]
            texts[index] = content[at + 3 : at + 3 + length].decode("utf-8", "replace")
            at += 3 + length
        else:
            if tag in _REFERENCES:
                pool[index] = struct.unpack_from(">H", content, at + 1)[0]
            if tag in _PAIRS:
                pairs[index] = struct.unpack_from(">2H", content, at + 1)
            if tag in _METHODS:
                methods.append(index)
            at += 1 + _SIZES[tag]
        index += 2 if tag in _TWO_PLACES else 1
    return Constants(texts, pool, pairs, methods, at)


def _members(content: bytes, at: int, texts: Mapping[int, str]) -> tuple[list[Method], int]:
    """Return the fields or the methods that begin at an offset, and the offset of their end."""
    count, at, found = struct.unpack_from(">H", content, at)[0], at + 2, list[Method]()
    for _ in range(count):
        _, name, descriptor, attributes = struct.unpack_from(">4H", content, at)
        at, said = at + 8, dict[str, bytes]()
        for _ in range(attributes):
            kind, length = struct.unpack_from(">HI", content, at)
            said[texts[kind]] = content[at + 6 : at + 6 + length]
            at += 6 + length
        signature = texts[struct.unpack(">H", said["Signature"])[0]] if "Signature" in said else ""
        code = said.get("Code", b"")
        length = struct.unpack_from(">I", code, 4)[0] if code else 0
        found.append(Method(texts[name], texts[descriptor], signature, code[8 : 8 + length]))
    return found, at
