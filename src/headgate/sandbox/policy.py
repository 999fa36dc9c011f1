"""Policy of a sandboxed process: an allow list. The kernel refuses everything else."""

import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Policy:
    """The access rights of a process and of all processes that it starts. Paths are absolute; a folder includes its content."""

    reads: tuple[str, ...] = ()
    """Files and folders that may be read. Missing ones are ignored."""
    executes: tuple[str, ...] = ()
    """Files and folders that may be read and executed. Missing ones are ignored."""
    writes: tuple[str, ...] = ()
    """Folders and files in which files may be read, created, changed and deleted. They must exist."""
    forbidden: tuple[str, ...] = ()
    """Files and folders that the process must not be able to open; if it can, it does not start."""
    connects: tuple[int, ...] = ()
    """TCP ports to which the process may connect, on every host."""
    listens: tuple[int, ...] = ()
    """TCP ports on which the process may listen."""
    datagrams: bool = False
    """Whether UDP may be used; the resolution of host names requires it."""
    unix_sockets: bool = False
    """Whether Unix sockets may be used; Landlock cannot restrict which ones."""
    processes: bool = False
    """Whether the process may start other processes, which have the same access rights."""
    ends_with_parent: bool = False
    """Whether the kernel kills the process when the thread that started it ends, even if it executes another program."""
    memory_bytes: int | None = None
    """The limit of private memory in bytes."""
    open_files: int | None = None
    """The limit of open files."""

    def to_json(self) -> str:
        """Return the policy as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Policy":
        """Return the policy from a text of `to_json`."""
        return cls(**{key: _to_tuple(value) for key, value in json.loads(text).items()})


def _to_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
