"""The seccomp filter of system calls: a classic BPF program that the kernel runs before each call."""

import ctypes
import errno
import os
import secrets
import struct
from collections.abc import Iterator, Sequence
from typing import Final

from headgate.sandbox import libc
from headgate.sandbox import system_calls as calls
from headgate.sandbox.errors import SandboxError
from headgate.sandbox.policy import Policy

_ARCHITECTURES: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_SET_SECCOMP, _MODE_FILTER = 22, 2
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
"""The offsets of these values in the input of the program (`seccomp_data`)."""
_LOAD, _AND, _IF_EQUAL, _IF_AT_LEAST, _IF_ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_FAIL: Final = 0x00050000

_UNIX, _INTERNET, _INTERNET_6 = 1, 2, 10
_STREAM, _DATAGRAM, _TYPE_MASK = 1, 2, 0xF
_TCP: Final = (0, 6)
"""The allowed protocols of stream sockets. Others, such as MPTCP, bypass Landlock's rules for TCP."""
_UDP: Final = (0, 17)
_FAST_OPEN: Final = 0x20000000
"""A flag of send calls that connects without `connect`, the call that Landlock checks."""
_DEVICE_CONTROLS: Final = (
    *(0x541B, 0x5421, 0x5450, 0x5451),  # bytes available to read, non-blocking mode, close-on-exec
    *(0x5401, 0x5413, 0x802C542A),  # whether it is a terminal, and its size
    *(0x8905, 0x8912, 0x8913, 0x8915, 0x8919, 0x891B, 0x8921, 0x8927, 0x8933),  # properties of network interfaces
)
"""The `ioctl` requests that programs need. Others inject input into terminals, change file attributes, or control devices."""
_DESCRIPTOR_COMMANDS: Final = (*range(8), *range(36, 39), *range(1030, 1035))
"""The allowed `fcntl` commands: duplicates, flags, locks, pipe sizes. Others send signals or delay opens of other processes."""
_OPTIONS_REFUSED: Final = ((0, 51), (1, 26), (1, 50), (1, 51), (1, 52), (6, 31))
"""Refused socket options: they allow listening on an unlisted port, packet filters, or other protocols over TCP."""
_ACCESS, _TRUNCATE = 0x3, 0x200
_SHARED_NOWHERE, _GROWS_DOWN = 0x21, 0x100
"""Flags of memory that the limit of private memory does not count."""
_NEW_NAMESPACES: Final = 0x7E020000
_CHILD_OF_PARENT: Final = 0x8000
_THREAD: Final = 0x10000
_FAST_OPEN_FLAGS: Final = {"sendto": 3, "sendmsg": 2, "sendmmsg": 3}
"""The position of the argument with the flags."""

FilterSecret = tuple[int, int]
"""Two 64-bit numbers that a process needs to execute a program; code that does not know them cannot execute one."""
Instruction = tuple[int, int, int, int]
"""Operation, number of instructions to skip if true and if false, and constant."""
_ALLOW: Final = (_RETURN, 0, 0, 0x7FFF0000)
_REFUSE: Final = (_RETURN, 0, 0, _FAIL | errno.EPERM)
_MISSING: Final = (_RETURN, 0, 0, _FAIL | errno.ENOSYS)
"""Returns the error of a kernel without the call."""
_KILL: Final = (_RETURN, 0, 0, 0x80000000)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def restrict_calls(policy: Policy) -> FilterSecret:
    """Restrict this process to the listed system calls permanently, and return the secret for `execute`.

    Raises `SandboxError` or `OSError`.
    """
    machine = os.uname().machine
    if machine not in _ARCHITECTURES:
        raise SandboxError(
            f"the sandbox does not support the processor architecture `{machine}`; use one of {', '.join(_ARCHITECTURES)}"
        )
    secret = (secrets.randbits(64), secrets.randbits(64))
    install_filter(program(policy, machine, os.getpid(), secret))
    return secret


def execute(command: Sequence[str], secret: FilterSecret) -> None:
    """Replace this process by the command. Raises `OSError` if the command cannot be executed."""
    number = getattr(calls.CONDITIONAL["execve"], os.uname().machine)
    environment = [f"{name}={value}" for name, value in os.environ.items()]
    libc.execute_from_descriptor(number, command, environment, secret)


def install_filter(instructions: Sequence[Instruction]) -> None:
    """Install a filter program, which the kernel then runs before each system call of this process. Raises `OSError`."""
    written = b"".join(struct.pack("=HBBI", *each) for each in instructions)
    asked = _Program(len(instructions), written)
    libc.prctl(_SET_SECCOMP, _MODE_FILTER, ctypes.byref(asked))


def program(policy: Policy, machine: str, process: int, secret: FilterSecret) -> Sequence[Instruction]:
    """Return the filter program for an architecture; `process` is the only process to which it may send signals."""
    return tuple(_program(policy, machine, process, secret))


def _program(policy: Policy, machine: str, process: int, secret: FilterSecret) -> Iterator[Instruction]:
    yield (_LOAD, 0, 0, _ARCHITECTURE)
    yield (_IF_EQUAL, 1, 0, _ARCHITECTURES[machine])
    yield _KILL
    yield (_LOAD, 0, 0, _NUMBER)
    # Newer calls, and on x86-64 those of the x32 interface, fail as on a kernel without them.
    yield (_IF_AT_LEAST, 0, 1, calls.HIGHEST)
    yield _MISSING
    for name, numbers in _conditional(policy, process, secret).items():
        number = getattr(calls.CONDITIONAL[name], machine)
        if number is not None:
            yield (_IF_EQUAL, 0, len(numbers), number)
            yield from numbers
    for group in (
        calls.FILE_CALLS,
        calls.MEMORY,
        calls.PROCESS,
        calls.SIGNALS,
        calls.TIME,
        calls.WAITING,
        calls.SOCKETS,
    ):
        for number in (getattr(each, machine) for each in group.values()):
            if number is not None:
                yield (_IF_EQUAL, 0, 1, number)
                yield _ALLOW
    yield _REFUSE


def _conditional(policy: Policy, process: int, secret: FilterSecret) -> dict[str, Sequence[Instruction]]:
    """Return the instructions for each call that depends on its arguments; each sequence ends with a return."""
    only_this = _equal(0, (process,))
    return {
        "socket": _sockets(policy),
        # A socket of a datagram pair could send to every Unix socket on this machine.
        "socketpair": (
            _argument(1),
            (_AND, 0, 0, _TYPE_MASK),
            (_IF_EQUAL, 1, 0, _STREAM),
            _REFUSE,
            *_equal(0, (_UNIX,)),
        ),
        "setsockopt": _unequal_pairs(1, 2, _OPTIONS_REFUSED),
        "open": _openings(1),
        "openat": _openings(2),
        "fcntl": _equal(1, _DESCRIPTOR_COMMANDS),
        "mmap": (_ALLOW,) if policy.memory_bytes is None else _private_memory(3),
        **{name: _no_bits(argument, _FAST_OPEN) for name, argument in _FAST_OPEN_FLAGS.items()},
        "ioctl": _equal(1, _DEVICE_CONTROLS),
        "clone": _new_process(policy),
        # Its flags are in memory, which a filter cannot read; the C library falls back to `clone`.
        "clone3": (_MISSING,),
        # A program that is executed by another thread than the first would not be killed with the parent.
        "execve": (_ALLOW,) if policy.processes else _only_with(secret),
        **dict.fromkeys(("fork", "vfork"), (_ALLOW if policy.processes else _REFUSE,)),
        # A new Landlock restricts signals to the sandbox; a process without children needs no signals to others.
        **dict.fromkeys(("kill", "tgkill"), (_ALLOW,) if policy.processes else only_this),
        "prlimit64": _equal(0, (0,)),
        "prctl": _refuse_outliving_parent(),
    }


def _argument(position: int) -> Instruction:
    """Return the instruction that loads the lower half of an argument; the kernel uses only that half for these calls."""
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * position)


def _equal(position: int, values: Sequence[int]) -> Sequence[Instruction]:
    """Allow the call if the argument is one of the values."""
    tests = tuple(each for value in values for each in ((_IF_EQUAL, 0, 1, value & 0xFFFFFFFF), _ALLOW))
    return (_argument(position), *tests, _REFUSE)


def _only_with(secret: FilterSecret) -> Sequence[Instruction]:
    """Allow the call if its fourth and fifth argument, which the kernel does not read, are the secret."""
    halves = [
        (8 * (3 + place) + at, number >> shift & 0xFFFFFFFF)
        for place, number in enumerate(secret)
        for at, shift in ((0, 0), (4, 32))
    ]
    tests = tuple(
        each for at, half in halves for each in ((_LOAD, 0, 0, _ARGUMENTS + at), (_IF_EQUAL, 1, 0, half), _REFUSE)
    )
    return (*tests, _ALLOW)


def _unequal_pairs(first: int, second: int, pairs: Sequence[tuple[int, int]]) -> Sequence[Instruction]:
    """Allow the call unless two arguments are one of the pairs."""
    tests = tuple(
        each
        for one, other in pairs
        for each in (_argument(first), (_IF_EQUAL, 0, 3, one), _argument(second), (_IF_EQUAL, 0, 1, other), _REFUSE)
    )
    return (*tests, _ALLOW)


def _openings(position: int) -> Sequence[Instruction]:
    """Allow opening files. Refuse access mode 3, which Landlock does not check, and truncation of files opened for reading."""
    return (*_refuse(position, _ACCESS, _ACCESS), *_refuse(position, _ACCESS | _TRUNCATE, _TRUNCATE), _ALLOW)


def _refuse_outliving_parent() -> Sequence[Instruction]:
    """Allow the call unless it sets the parent-death signal to anything but SIGKILL."""
    return (
        _argument(0),
        (_IF_EQUAL, 0, 3, libc.SET_PARENT_DEATH_SIGNAL),
        _argument(1),
        (_IF_EQUAL, 1, 0, libc.KILL),
        _REFUSE,
        _ALLOW,
    )


def _private_memory(position: int) -> Sequence[Instruction]:
    """Allow mappings of private memory, which the limit counts, and of files."""
    return (*_refuse(position, _SHARED_NOWHERE, _SHARED_NOWHERE), *_no_bits(position, _GROWS_DOWN))


def _refuse(position: int, mask: int, value: int) -> Sequence[Instruction]:
    """Refuse the call if the masked bits of the argument equal the value; otherwise continue with the next instruction."""
    return (_argument(position), (_AND, 0, 0, mask), (_IF_EQUAL, 0, 1, value), _REFUSE)


def _no_bits(position: int, bits: int) -> Sequence[Instruction]:
    """Allow the call if the argument has none of the bits."""
    return (_argument(position), (_IF_ANY_BIT, 0, 1, bits), _REFUSE, _ALLOW)


def _new_process(policy: Policy) -> Sequence[Instruction]:
    """Allow threads, and processes if the policy allows them; refuse new namespaces."""
    return (
        _argument(0),
        (_IF_ANY_BIT, 0, 1, _NEW_NAMESPACES | _CHILD_OF_PARENT),
        _REFUSE,
        (_IF_ANY_BIT, 0, 1, _THREAD),
        _ALLOW,
        _ALLOW if policy.processes else _REFUSE,
    )


def _sockets(policy: Policy) -> Sequence[Instruction]:
    """Allow TCP sockets, and UDP and Unix sockets if the policy allows them."""
    kinds = [(family, _STREAM, protocol) for family in (_INTERNET, _INTERNET_6) for protocol in _TCP]
    if policy.datagrams:
        kinds += [(family, _DATAGRAM, protocol) for family in (_INTERNET, _INTERNET_6) for protocol in _UDP]
    tests = list[Instruction]()
    for family, kind, protocol in kinds:
        tests += (
            _argument(0),
            (_IF_EQUAL, 0, 6, family),
            _argument(1),
            (_AND, 0, 0, _TYPE_MASK),
            (_IF_EQUAL, 0, 3, kind),
            _argument(2),
            (_IF_EQUAL, 0, 1, protocol),
            _ALLOW,
        )
    unix = _equal(0, (_UNIX,)) if policy.unix_sockets else (_REFUSE,)
    return (*tests, *unix)
