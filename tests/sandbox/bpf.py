"""An interpreter of seccomp filters (BPF): it tries every system call of every architecture on any machine."""

import struct
from collections.abc import Sequence
from typing import Final

from headgate.sandbox.seccomp_filter import Instruction

ALLOWED: Final = 0
"""The result for an allowed call; for any other call, the result contains the error number."""
KILLED: Final = -1
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000


def answer(program: Sequence[Instruction], architecture: int, number: int, arguments: Sequence[int] = ()) -> int:
    """Return the result of the filter program for a call."""
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
