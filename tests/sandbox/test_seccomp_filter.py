"""The seccomp filter of both architectures, interpreted as the kernel does it."""

import errno
import socket
from collections.abc import Callable, Sequence
from typing import Final

import pytest

from headgate.sandbox import system_calls as calls
from headgate.sandbox.policy import Policy
from headgate.sandbox.seccomp_filter import program
from tests.sandbox.bpf import ALLOWED, KILLED, answer

ARCHITECTURES: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
PROCESS: Final = 77
SECRET: Final = (0x0123456789ABCDEF, 0xFEDCBA9876543210)
MPTCP, UDP_LITE = 262, 136
FAST_OPEN: Final = 0x20000000
THREAD: Final = 0x3D0F00
"""The flags with which the C library creates a thread."""
NEW_USER_NAMESPACE: Final = 0x10000000
TYPE_INTO_TERMINAL, NEW_LINE = 0x5412, 0x5401

Ask = Callable[..., int]


@pytest.fixture(params=ARCHITECTURES)
def machine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def asking(policy: Policy, machine: str) -> Ask:
    """Return a function that returns the filter's result for a call, given by its name in the list."""
    made = program(policy, machine, PROCESS, SECRET)

    def ask(name: str, *arguments: int) -> int:
        number = getattr(calls.CONDITIONAL[name], machine)
        return answer(made, ARCHITECTURES[machine], number, arguments)

    return ask


def test_exactly_the_listed_calls_are_allowed(machine: str) -> None:
    made = program(Policy(), machine, PROCESS, SECRET)
    groups = (calls.FILE_CALLS, calls.MEMORY, calls.PROCESS, calls.SIGNALS, calls.TIME, calls.WAITING, calls.SOCKETS)
    listed = {getattr(each, machine) for group in groups for each in group.values()} - {None}
    conditional = {getattr(each, machine) for each in calls.CONDITIONAL.values()}

    answers = {number: answer(made, ARCHITECTURES[machine], number) for number in range(600)}

    assert {number for number, said in answers.items() if said == ALLOWED} - conditional == listed
    assert {said for number, said in answers.items() if number < calls.HIGHEST} <= {ALLOWED, errno.EPERM, errno.ENOSYS}


def test_newer_calls_and_calls_of_another_interface_do_not_exist(machine: str) -> None:
    made = program(Policy(), machine, PROCESS, SECRET)

    for number in (calls.HIGHEST, 500, 0x40000000, 0x40000001, 2**32 - 1):
        assert answer(made, ARCHITECTURES[machine], number) == errno.ENOSYS


def test_the_calls_of_another_machine_end_the_process(machine: str) -> None:
    made = program(Policy(), machine, PROCESS, SECRET)
    others = {0x40000003, *ARCHITECTURES.values()} - {ARCHITECTURES[machine]}

    assert {answer(made, other, 1) for other in others} == {KILLED}


def test_a_socket_is_tcp_unless_the_policy_allows_more(machine: str) -> None:
    ask = asking(Policy(), machine)
    flags = socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
    every = [
        (family, kind | extra, protocol)
        for family in range(45)
        for kind in range(8)
        for extra in (0, flags)
        for protocol in (0, 6, 17, 132, UDP_LITE, MPTCP)
    ]

    taken = {each for each in every if ask("socket", *each) == ALLOWED}

    assert taken == {
        (family, socket.SOCK_STREAM | extra, protocol)
        for family in (socket.AF_INET, socket.AF_INET6)
        for extra in (0, flags)
        for protocol in (0, 6)
    }


@pytest.mark.parametrize(
    ("policy", "allowed", "refused"),
    [
        (Policy(datagrams=True), (2, 2, 17), (2, 2, UDP_LITE)),
        (Policy(datagrams=True), (10, 2, 0), (2, 3, 1)),
        (Policy(unix_sockets=True), (1, 1, 0), (16, 3, 0)),
    ],
    ids=["udp", "udp6", "unix"],
)
def test_a_policy_can_allow_datagrams_or_unix_sockets(
    policy: Policy, allowed: Sequence[int], refused: Sequence[int], machine: str
) -> None:
    assert asking(Policy(), machine)("socket", *allowed) == errno.EPERM
    assert asking(policy, machine)("socket", *allowed) == ALLOWED
    assert asking(policy, machine)("socket", *refused) == errno.EPERM


def test_sending_cannot_open_a_connection(machine: str) -> None:
    ask = asking(Policy(), machine)

    for name, position in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3)):
        before = [0] * position
        assert ask(name, *before, 0) == ALLOWED
        assert ask(name, *before, 0x4000) == ALLOWED
        assert ask(name, *before, FAST_OPEN | 0x4000) == errno.EPERM


def test_threads_are_allowed_and_processes_need_the_permission_of_the_policy(machine: str) -> None:
    alone, more = asking(Policy(), machine), asking(Policy(processes=True), machine)

    assert (alone("clone", THREAD), alone("clone", 17)) == (ALLOWED, errno.EPERM)
    assert (more("clone", THREAD), more("clone", 17)) == (ALLOWED, ALLOWED)
    assert more("clone", 17 | NEW_USER_NAMESPACE) == errno.EPERM
    assert more("clone", THREAD | NEW_USER_NAMESPACE) == errno.EPERM
    assert alone("clone3") == errno.ENOSYS


def test_a_process_without_children_sends_signals_to_itself_only(machine: str) -> None:
    ask = asking(Policy(), machine)

    for name in ("kill", "tgkill"):
        assert ask(name, PROCESS) == ALLOWED
        assert {ask(name, other) for other in (0, 1, -1, -PROCESS, PROCESS + 1)} == {errno.EPERM}
    assert ask("tkill", PROCESS) == errno.EPERM


def test_limits_of_other_processes_cannot_be_set(machine: str) -> None:
    ask = asking(Policy(processes=True), machine)

    assert (ask("prlimit64", 0), ask("prlimit64", 1)) == (ALLOWED, errno.EPERM)


def test_a_process_cannot_choose_to_outlive_its_parent(machine: str) -> None:
    ask, death_signal, kill, name = asking(Policy(processes=True), machine), 1, 9, 15

    assert ask("prctl", death_signal, kill) == ALLOWED
    assert {ask("prctl", death_signal, signal) for signal in (0, 15, 64)} == {errno.EPERM}
    assert ask("prctl", 2**32 | death_signal, 0) == errno.EPERM
    assert ask("prctl", name, 0) == ALLOWED


def test_no_call_writes_input_into_a_terminal(machine: str) -> None:
    ask = asking(Policy(processes=True), machine)

    assert (ask("ioctl", 0, NEW_LINE), ask("ioctl", 0, TYPE_INTO_TERMINAL)) == (ALLOWED, errno.EPERM)
    assert ask("ioctl", 0, 2**32 | TYPE_INTO_TERMINAL) == errno.EPERM


def test_a_pair_of_sockets_is_a_local_stream_only(machine: str) -> None:
    ask = asking(Policy(unix_sockets=True, datagrams=True), machine)
    kinds = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_RAW)

    assert [ask("socketpair", 1, kind | socket.SOCK_CLOEXEC, 0) == ALLOWED for kind in kinds] == [True, *[False] * 3]
    assert ask("socketpair", 2, socket.SOCK_STREAM, 0) == errno.EPERM


@pytest.mark.parametrize(("name", "position"), [("open", 1), ("openat", 2)])
def test_a_file_is_opened_with_ordinary_flags_only(machine: str, name: str, position: int) -> None:
    ask = asking(Policy(), machine)
    read, write, both, neither, cut, create = 0, 1, 2, 3, 0x200, 0x40

    if getattr(calls.CONDITIONAL[name], machine) is None:
        return

    def opened(flags: int) -> bool:
        return ask(name, *[0] * position, flags) == ALLOWED

    assert all(map(opened, (read, write, both, write | cut, both | cut | create, 0x80000 | read, 0x200000)))
    assert not any(map(opened, (neither, neither | cut, neither | create, read | cut, read | cut | create)))


def test_descriptors_can_be_copied_and_locked_and_send_no_signals(machine: str) -> None:
    ask = asking(Policy(processes=True), machine)
    lease, owner, signal, watch = 1024, 8, 10, 1026

    assert {ask("fcntl", 3, command) for command in (0, 1, 2, 3, 4, 6, 37, 1030, 1031)} == {ALLOWED}
    assert {ask("fcntl", 3, command) for command in (lease, owner, signal, watch, 15, 1027)} == {errno.EPERM}


def test_no_option_of_a_socket_chooses_a_port_or_filters_packets(machine: str) -> None:
    ask = asking(Policy(), machine)
    reuse, keep_alive, no_delay, user_timeout = (1, 2), (1, 9), (6, 1), (6, 18)

    assert {ask("setsockopt", 3, *option) for option in (reuse, keep_alive, no_delay, user_timeout, (41, 26))} == {
        ALLOWED
    }
    assert {ask("setsockopt", 3, *option) for option in ((0, 51), (1, 26), (1, 50), (6, 31))} == {errno.EPERM}


def test_memory_of_a_limited_process_is_private(machine: str) -> None:
    ask, free = asking(Policy(memory_bytes=1), machine), asking(Policy(), machine)
    private, shared, nowhere, grows = 2, 1, 0x20, 0x100

    def mapped(ask: Ask, flags: int) -> int:
        return ask("mmap", 0, 0, 0, flags)

    assert {mapped(ask, flags) for flags in (private, private | nowhere, shared)} == {ALLOWED}
    assert {mapped(ask, flags) for flags in (shared | nowhere, 3 | nowhere, private | nowhere | grows)} == {errno.EPERM}
    assert mapped(free, shared | nowhere) == ALLOWED


def test_file_attributes_and_devices_cannot_be_controlled(machine: str) -> None:
    ask = asking(Policy(processes=True), machine)
    set_attributes, own, device = 0x40086602, 0x8901, 0xAE00

    assert {ask("ioctl", 3, command) for command in (set_attributes, own, device)} == {errno.EPERM}
    assert {ask("ioctl", 3, command) for command in (0x541B, 0x5421, 0x5413)} == {ALLOWED}


def test_a_process_cannot_create_a_sibling(machine: str) -> None:
    assert asking(Policy(processes=True), machine)("clone", 17 | 0x8000) == errno.EPERM


def test_a_process_without_children_executes_a_program_only_with_its_secret(machine: str) -> None:
    ask = asking(Policy(), machine)

    assert ask("execve", 1, 2, 3, *SECRET) == ALLOWED
    for wrong in (
        (0, 0),
        SECRET[::-1],
        *((SECRET[0] ^ bit, SECRET[1]) for bit in (1, 1 << 63)),
        (SECRET[0], SECRET[1] ^ 1 << 32),
    ):
        assert ask("execve", 1, 2, 3, *wrong) == errno.EPERM
    assert asking(Policy(processes=True), machine)("execve", 1, 2, 3, 0, 0) == ALLOWED
