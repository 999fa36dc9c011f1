"""Landlock: restricts the files and TCP ports of this process. Source: `Documentation/userspace-api/landlock.rst` of Linux."""

import ctypes
import os
import stat
from collections.abc import Iterable
from typing import Final

from headgate.sandbox import libc
from headgate.sandbox.enforcement_level import SandboxLevel
from headgate.sandbox.errors import SandboxError
from headgate.sandbox.policy import Policy

_CREATE, _ADD, _RESTRICT = 444, 445, 446
"""The numbers of the system calls, the same on every architecture."""
_ASK_VERSION: Final = 1
_PATH_RULE, _PORT_RULE = 1, 2

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_FOLDER = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_FOLDER, _REMOVE_FILE, _MAKE_FOLDER, _MAKE_FILE = 1 << 4, 1 << 5, 1 << 7, 1 << 8
_MOVE, _TRUNCATE, _DEVICE_CONTROL = 1 << 13, 1 << 14, 1 << 15
_OF_FILES: Final = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _DEVICE_CONTROL
"""The access rights that a rule about a single file can grant."""
_READS: Final = _READ_FILE | _READ_FOLDER
_EXECUTES: Final = _READS | _EXECUTE
_WRITES: Final = _READS | _WRITE_FILE | _TRUNCATE | _MAKE_FILE | _MAKE_FOLDER | _REMOVE_FILE | _REMOVE_FOLDER | _MOVE
_LISTEN, _CONNECT = 1 << 0, 1 << 1
_OTHERS_SOCKETS_AND_SIGNALS: Final = 3

_WITH_MOVE, _WITH_TRUNCATE, _WITH_PORTS, _WITH_DEVICE_CONTROL, _WITH_SCOPES = 2, 3, 4, 5, 6
"""The first versions of Landlock with these features."""


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("ports", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("rights", ctypes.c_uint64), ("descriptor", ctypes.c_int32))


class _PortRule(ctypes.Structure):
    _fields_ = (("rights", ctypes.c_uint64), ("port", ctypes.c_uint64))


def version() -> int:
    """Return the version of the kernel's Landlock; 0 without Landlock."""
    try:
        return libc.system_call(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_ASK_VERSION))
    except OSError:
        return 0


def restrict_files(policy: Policy, level: SandboxLevel) -> None:
    """Restrict this process to the files and ports of the policy. Raises `SandboxError` or `OSError`."""
    found = version()
    if found == 0:
        raise SandboxError(
            "the Linux kernel has no Landlock, or Landlock is disabled; add `landlock` to the boot parameter `lsm`"
        )
    if level is SandboxLevel.FULL and found < _WITH_PORTS:
        raise SandboxError("the Landlock of the Linux kernel cannot restrict TCP ports; use Linux 6.7 or newer")
    files = _file_rights(found)
    ports = (_LISTEN | _CONNECT) if level is SandboxLevel.FULL else 0
    scopes = _OTHERS_SOCKETS_AND_SIGNALS if found >= _WITH_SCOPES else 0
    asked = _Ruleset(files, ports, scopes)
    # A kernel that does not know the last fields refuses a structure longer than its own.
    size = 24 if found >= _WITH_SCOPES else 16 if found >= _WITH_PORTS else 8
    ruleset = libc.system_call(_CREATE, ctypes.byref(asked), ctypes.c_size_t(size), ctypes.c_uint32(0))
    try:
        _allow_paths(ruleset, policy, files)
        if ports:
            _allow_ports(ruleset, policy.connects, _CONNECT)
            _allow_ports(ruleset, policy.listens, _LISTEN)
        libc.system_call(_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def _file_rights(found: int) -> int:
    """Return all access rights for files of this version of Landlock."""
    rights = (1 << 13) - 1
    newer = ((_WITH_MOVE, _MOVE), (_WITH_TRUNCATE, _TRUNCATE), (_WITH_DEVICE_CONTROL, _DEVICE_CONTROL))
    for since, right in newer:
        rights |= right if found >= since else 0
    return rights


def _allow_paths(ruleset: int, policy: Policy, known: int) -> None:
    for paths, rights, is_needed in (
        (policy.reads, _READS, False),
        (policy.executes, _EXECUTES, False),
        (policy.writes, _WRITES, True),
    ):
        for path in paths:
            try:
                _allow_path(ruleset, path, rights & known)
            except FileNotFoundError:
                if is_needed:
                    raise SandboxError(
                        f"`{path}`, which the sandboxed process needs to write, does not exist; create it"
                    ) from None


def _allow_path(ruleset: int, path: str, rights: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _OF_FILES
        rule = _PathRule(rights, descriptor)
        libc.system_call(_ADD, ctypes.c_int(ruleset), ctypes.c_int(_PATH_RULE), ctypes.byref(rule), ctypes.c_uint32(0))
    finally:
        os.close(descriptor)


def _allow_ports(ruleset: int, ports: Iterable[int], right: int) -> None:
    for port in ports:
        rule = _PortRule(right, port)
        libc.system_call(_ADD, ctypes.c_int(ruleset), ctypes.c_int(_PORT_RULE), ctypes.byref(rule), ctypes.c_uint32(0))
