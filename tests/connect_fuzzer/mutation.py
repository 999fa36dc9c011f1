"""Changes of requests, field by field and byte by byte.

A mutant depends only on its number, so it is reproducible.
"""

import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

from headgate.spark.gateway.rpcs import RPCS, SERVICE, Rpc
from tests.connect_fuzzer.messages import ANY, Request, fill, is_map, name_of, walk

REGRESSIONS: Final = Path(__file__).with_name("regressions.jsonl")
_WEIGHTS: Final = {"ExecutePlan": 60, "AnalyzePlan": 15}
_WEIGHT: Final = 3
"""The weight of each other call."""
_IDS: Final = ("session_id", "operation_id", "error_id", "response_id")
_LONGEST: Final = 256 * 1024
"""The maximum size of a mutant in bytes; the tests of sizes cover longer requests."""
_MOST_CHANGES: Final = 4
_TRIES: Final = 8
_BOUNDS: Final = (0, 1, 3, 6, 7, 8, 10, 16, 20, 31, 32, 53, 63)
_NUMBERS: Final = tuple(sign * (2**bound + more) for bound in _BOUNDS for more in (-1, 0) for sign in (1, -1))
_BYTES_SHARE: Final = 0.15
"""The share of mutants whose bytes are also changed."""
_DATA_SHARE: Final = 0.5
"""The share of changes that alter the data of a message with data, such as Arrow rows or a sketch."""
_REPEATS: Final = (2, 3, 10, 100)
_FLOATS: Final = (0.0, -0.0, 1.0, -1.0, 0.5, 1e308, 5e-324, float("inf"), float("-inf"), float("nan"))
_BITS: Final = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A request to send."""

    number: int
    rpc: Rpc
    data: bytes
    more: tuple[bytes, ...] = ()
    """The further requests of a call with several requests."""

    def parsed(self) -> Message | None:
        """Return the request as a message, or None if it is not one."""
        try:
            return self.rpc.request.FromString(self.data)
        except DecodeError:
            return None


def regressions() -> Iterator[Mutant]:
    """Yield the mutants of earlier findings, each with a negative number."""
    for number, each in enumerate(REGRESSIONS.read_text(encoding="utf-8").splitlines(), start=1):
        kept = json.loads(each)
        first, *more = map(bytes.fromhex, kept["requests"])
        yield Mutant(-number, RPCS[SERVICE + kept["call"]], first, tuple(more))


def regression(mutant: Mutant) -> str:
    """Return the line that makes later runs send a mutant again; it also has the readable form of the first request."""
    requests = [each.hex() for each in (mutant.data, *mutant.more)]
    kept = {"call": mutant.rpc.name, "requests": requests, "first": str(mutant.parsed() or "")}
    return json.dumps(kept, ensure_ascii=False)


class Mutation:
    """Creates the mutants of a corpus.

    Fields get these texts and bytes; fields that name a session or operation get an id.
    """

    def __init__(
        self,
        requests: Sequence[Request],
        texts: Sequence[str],
        values: Sequence[bytes],
        ids: Sequence[str],
        seed: int,
    ) -> None:
        self._requests = defaultdict[str, list[Request]](list)
        for each in requests:
            self._requests[each.rpc.name].append(each)
        self._texts = texts
        self._values = values
        self._ids = ids
        self._seed = seed
        self._donors = _donors(requests)

    def mutant(self, number: int) -> Mutant:
        """Return the mutant with a number."""
        chance = random.Random(f"{self._seed}:{number}")  # noqa: S311 - nothing secret
        names = list(self._requests)
        (name,) = chance.choices(names, [_WEIGHTS.get(each, _WEIGHT) for each in names])
        request = chance.choice(self._requests[name])
        data = self._changed_data(request, chance)
        following = chance.choices(self._requests[name], k=chance.randint(0, 3)) if request.rpc.streams_in else []
        return Mutant(number, request.rpc, data, tuple(self._changed_data(each, chance) for each in following))

    def _changed_data(self, request: Request, chance: random.Random) -> bytes:
        message = _copy(request.message)
        for _ in range(chance.randint(1, _MOST_CHANGES)):
            message = self._changed(message, chance)
        data = message.SerializeToString()
        return change_bytes(data, chance) if chance.random() < _BYTES_SHARE else data

    def _changed(self, message: Message, chance: random.Random) -> Message:
        """Return the message with one change.

        A change that has no effect, or makes the message too long, is tried again.
        """
        for _ in range(_TRIES):
            changed = _copy(message)
            self._change(changed, chance)
            if changed != message and changed.ByteSize() <= _LONGEST:
                return changed
        return message

    def _change(self, root: Message, chance: random.Random) -> None:
        messages = list(walk(root))
        data = [(each, field.name) for each in messages for field, _ in each.ListFields() if _is_data(field)]
        if data and chance.random() < _DATA_SHARE:
            holder, name = chance.choice(data)
            setattr(holder, name, self._bytes(chance, getattr(holder, name)))
            return
        message = chance.choice(messages)
        if not message.DESCRIPTOR.fields:
            return
        if chance.random() < 1 / 4 and self._replace(message, chance):
            return
        there: list[Any] = [field for field, _ in message.ListFields()]
        field = chance.choice(there if there and chance.random() < 1 / 2 else list(message.DESCRIPTOR.fields))
        if field.message_type is not None and name_of(field.message_type) == ANY:
            return
        if chance.random() < 1 / 8:
            message.ClearField(field.name)
        elif is_map(field):
            self._change_map(message, field, chance)
        elif field.is_repeated:
            self._change_list(message, field, chance)
        elif field.message_type is not None:
            self._change_message(getattr(message, field.name), chance)
        else:
            setattr(message, field.name, self._scalar(field, chance, getattr(message, field.name)))

    def _replace(self, message: Message, chance: random.Random) -> bool:
        """Replace the message by another of the same type, which sometimes contains the original."""
        donors = self._donors[name_of(message.DESCRIPTOR)]
        if not donors:
            return False
        donor, before = _copy(chance.choice(donors)), _copy(message)
        inside = [each for each in walk(donor) if each is not donor and each.DESCRIPTOR is donor.DESCRIPTOR]
        if inside and chance.random() < 1 / 2:
            chance.choice(inside).CopyFrom(before)
        message.CopyFrom(donor)
        return True

    def _change_message(self, held: Message, chance: random.Random) -> None:
        held.SetInParent()
        donors = self._donors[name_of(held.DESCRIPTOR)]
        if donors and chance.random() < 3 / 4:
            held.CopyFrom(chance.choice(donors))
        else:
            fill(held, 0)

    def _change_map(self, message: Message, field: Any, chance: random.Random) -> None:
        held: Any = getattr(message, field.name)
        value = field.message_type.fields_by_name["value"]
        key = chance.choice([*held, *self._texts])
        if value.message_type is not None:
            self._change_message(held[key], chance)
        else:
            held[key] = self._scalar(value, chance, held.get(key, ""))

    def _change_list(self, message: Message, field: Any, chance: random.Random) -> None:
        held: Any = getattr(message, field.name)
        change = chance.choice(("add", "add", "delete", "repeat", "shuffle"))
        if change == "add" or not held:
            if field.message_type is not None:
                self._change_message(held.add(), chance)
            else:
                held.append(self._scalar(field, chance, held[-1] if held else None))
            return
        if change == "delete":
            del held[chance.randrange(len(held))]
            return
        values = list(held)
        if change == "repeat":
            values += [chance.choice(values)] * (chance.choice(_REPEATS) - 1)
        else:
            chance.shuffle(values)
        copies = [_copy(each) if isinstance(each, Message) else each for each in values]
        message.ClearField(field.name)
        held.extend(copies)

    def _scalar(self, field: Any, chance: random.Random, now: Any) -> Any:
        kind = field.cpp_type
        if kind in (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE):
            return chance.choice(_FLOATS)
        if kind == FieldDescriptor.CPPTYPE_BOOL:
            return not now
        if kind == FieldDescriptor.CPPTYPE_ENUM:
            return chance.choice([*field.enum_type.values_by_number, 99])
        if kind == FieldDescriptor.CPPTYPE_STRING:
            is_bytes = field.type == FieldDescriptor.TYPE_BYTES
            return self._bytes(chance, now or b"") if is_bytes else self._text(field, chance, now or "")
        least, most = _BITS[kind]
        return min(max(chance.choice((*_NUMBERS, (now or 0) + 1, (now or 0) - 1)), least), most)

    def _text(self, field: Any, chance: random.Random, now: str) -> str:
        if field.name.endswith(_IDS) and chance.random() < 3 / 4:
            return chance.choice(self._ids)
        if not now or chance.random() < 3 / 4:
            return chance.choice(self._texts)
        changed = change_bytes(now.encode(), chance).decode(errors="replace")
        return chance.choice((changed, now + chance.choice(self._texts), now * 2))

    def _bytes(self, chance: random.Random, now: bytes) -> bytes:
        if not now or chance.random() < 1 / 2:
            return chance.choice(self._values)
        return change_bytes(now, chance)


def _is_data(field: Any) -> bool:
    return bool(field.type == FieldDescriptor.TYPE_BYTES and not field.is_repeated)


def change_bytes(data: bytes, chance: random.Random) -> bytes:
    """Change some bytes: their values, their number or their order."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(changed) + 1)
        chance.choice(_BYTE_CHANGES)(changed, place, chance)
    return bytes(changed[:_LONGEST])


def _overwrite(data: bytearray, place: int, chance: random.Random) -> None:
    data[place : place + 1] = bytes([chance.randrange(256)])


def _insert(data: bytearray, place: int, chance: random.Random) -> None:
    data[place:place] = chance.randbytes(chance.randint(1, 8))


def _delete(data: bytearray, place: int, chance: random.Random) -> None:
    del data[place : place + chance.randint(1, 8)]


def _cut(data: bytearray, place: int, _: random.Random) -> None:
    del data[place:]


def _double(data: bytearray, place: int, chance: random.Random) -> None:
    data[place:place] = data[place : place + chance.randint(1, 64)]


def _widen(data: bytearray, place: int, _: random.Random) -> None:
    """Increase a number or a length beyond the data that follows."""
    data[place : place + 1] = b"\xff\xff\xff\xff\x0f"


_BYTE_CHANGES: Final[Sequence[Callable[[bytearray, int, random.Random], None]]] = (
    _overwrite,
    _overwrite,
    _insert,
    _delete,
    _cut,
    _double,
    _widen,
)


def shrink_candidates(message: Message) -> Sequence[Message]:
    """Return the message with one reduction each: without a field or an element, or with only an inner part."""
    found = list[Message]()
    for place, each in enumerate(walk(message)):
        for field, value in each.ListFields():
            found.append(_with_change(message, place, lambda at, name=field.name: at.ClearField(name)))
            if field.is_repeated and not is_map(field) and len(value) > 1:
                found.extend(
                    _with_change(message, place, lambda at, name=field.name, n=number: getattr(at, name).pop(n))
                    for number in range(min(len(value), 20))
                )
        for inner in walk(each):
            if inner is not each and inner.DESCRIPTOR is each.DESCRIPTOR:
                found.append(_with_change(message, place, lambda at, it=inner: at.CopyFrom(_copy(it))))
                break
    return sorted((each for each in found if each != message), key=lambda each: each.ByteSize())


def _with_change(message: Message, place: int, change: Callable[[Any], object]) -> Message:
    copy = _copy(message)
    change(list(walk(copy))[place])
    return copy


def _copy(message: Message) -> Message:
    copy = type(message)()
    copy.CopyFrom(message)
    return copy


def _donors(requests: Sequence[Request]) -> Mapping[str, Sequence[Message]]:
    """Return the distinct messages of each type."""
    found = defaultdict[str, dict[bytes, Message]](dict)
    for request in requests:
        for each in walk(request.message):
            found[name_of(each.DESCRIPTOR)].setdefault(each.SerializeToString(deterministic=True), each)
    return defaultdict(tuple, {name: tuple(each.values()) for name, each in found.items()})
