"""Parsers of the lake's files: they run in separate processes, which the organizations share fairly."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from headgate.lake.errors import BusyError, InvalidMetadataError
from headgate.untrusted_input.blocking_pool import BlockingPool
from headgate.untrusted_input.errors import OversizedInputError, ParsersBusyError, UnreadableInputError
from headgate.untrusted_input.manifest_answers import FileAnswer, ManifestAnswer, unpack_files, unpack_manifests

T = TypeVar("T")

MAX_ANSWER_BYTES: Final = 256 * 1024 * 1024
"""The limit in bytes of all parser results for one request; an entry for a file of a table takes some 200 bytes."""


class FileParsers:
    """Parses the files that one request names. Raises `InvalidMetadataError` for a file that cannot be read, `BusyError`."""

    def __init__(self, pool: BlockingPool, owner: str) -> None:
        """`owner` is the organization that the work counts for; the processes are shared between owners."""
        self._pool = pool
        self._owner = owner
        self._left = MAX_ANSWER_BYTES

    def read_manifest_list(self, content: bytes) -> Sequence[ManifestAnswer]:
        """Return the manifests that a manifest list names."""
        return _read("a manifest list", lambda: tuple(unpack_manifests(self._rewritten(b"list", [content])[0])))

    def read_manifests(self, contents: Sequence[bytes]) -> Sequence[Sequence[FileAnswer]]:
        """Return the files that each manifest names."""
        return _read(
            "a manifest", lambda: [tuple(unpack_files(each)) for each in self._rewritten(b"manifest", contents)]
        )

    def rewrite_json(self, content: bytes) -> bytes:
        """Return a JSON document with the same values, checked against limits and serialized by Headgate."""
        return _read("a metadata file", lambda: self._rewritten(b"json", [content])[0])

    def _rewritten(self, kind: bytes, contents: Sequence[bytes]) -> list[bytes]:
        return self._pool.rewrite(self._owner, kind, contents, self._charge)

    def _charge(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            most = MAX_ANSWER_BYTES // 1024 // 1024
            raise OversizedInputError(
                f"the request reads more than {most} MiB of the table's metadata; expire snapshots of the table first"
            )


def _read(what: str, read: Callable[[], T]) -> T:
    try:
        return read()
    except (UnreadableInputError, OversizedInputError) as error:
        raise InvalidMetadataError(f"{what} cannot be read: {error}") from None
    except ParsersBusyError as error:
        raise BusyError(str(error)) from None
