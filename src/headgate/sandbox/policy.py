"""What a sandboxed process may do. Whatever the policy does not list is refused by the kernel."""

import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Policy:
    """The rights of one process and all that it starts. Paths are absolute; a folder stands for everything below it."""

    reads: tuple[str, ...] = ()
    """Files and folders that may be read. One that does not exist is left out."""
    executes: tuple[str, ...] = ()
    """Files and folders that may be read and executed. One that does not exist is left out."""
    writes: tuple[str, ...] = ()
    """Folders and files in which files may be read, created, changed and deleted. They must exist."""
    forbidden: tuple[str, ...] = ()
    """Files and folders that the process must not be able to open: it does not start if it can."""
    connects: tuple[int, ...] = ()
    """TCP ports that may be connected, of every host."""
    listens: tuple[int, ...] = ()
    """TCP ports that may be listened on."""
    datagrams: bool = False
    """Whether UDP may be used, as names of hosts need."""
    unix_sockets: bool = False
    """Whether Unix sockets may be used; Landlock does not restrict which."""
    processes: bool = False
    """Whether further processes may be started; they have the same rights."""
    ends_with_parent: bool = False
    """Whether the kernel ends the process with the thread that started it, whatever the process has become."""
    memory_bytes: int | None = None
    """The most private memory."""
    open_files: int | None = None
    """The most open files."""

    def to_json(self) -> str:
        """Return the policy as text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Policy":
        """Return the policy of a text that `to_json` has returned."""
        return cls(**{key: _to_tuple(value) for key, value in json.loads(text).items()})


def _to_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
