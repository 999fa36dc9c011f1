"""Runs a filter of system calls as the kernel does, so that every call can be tried on every machine."""

import struct
from collections.abc import Sequence
from typing import Final

from headgate.sandbox.seccomp_filter import Instruction

ALLOWED: Final = 0
"""Returned for a call that is allowed; for any other, the number of its error."""
KILLED: Final = -1
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000


def answer(program: Sequence[Instruction], architecture: int, number: int, arguments: Sequence[int] = ()) -> int:
    """Return what the program says of a call."""
    padded = (*arguments, *(0 for _ in range(6 - len(arguments))))
    data = struct.pack("<IIQ6Q", number, architecture, 0, *(each & (2**64 - 1) for each in padded))
    position, register = 0, 0
    while True:
        operation, is_true, is_false, constant = program[position]
        position += 1
        if operation == 0x06:
            return _said(constant)
        if operation == 0x20:
            register = struct.unpack_from("<I", data, constant)[0]
        elif operation == 0x54:
            register &= constant
        else:
            held = {0x15: register == constant, 0x35: register >= constant, 0x45: bool(register & constant)}
            position += is_true if held[operation] else is_false


def _said(constant: int) -> int:
    if constant == _ALLOW:
        return ALLOWED
    return constant & 0xFFFF if constant & 0xFFFF0000 == _FAIL else KILLED
