"""An object store in memory, as PyIceberg uses one: whole objects by name, without folders or links."""

import io
from typing import cast

from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile, OutputStream
from typing_extensions import override

OBJECTS: dict[str, bytes] = {}
"""The contents of the store. A global: PyIceberg creates its FileIO by class name, so a store cannot be passed in."""


class _Object(InputFile, OutputFile):
    @override
    def __len__(self) -> int:
        return len(OBJECTS[self.location])

    @override
    def exists(self) -> bool:
        return self.location in OBJECTS

    @override
    def to_input_file(self) -> InputFile:
        return self

    @override
    def open(self, seekable: bool = True) -> InputStream:
        if self.location not in OBJECTS:
            raise FileNotFoundError(self.location)
        return cast(InputStream, io.BytesIO(OBJECTS[self.location]))

    @override
    def create(self, overwrite: bool = False) -> OutputStream:
        if self.exists() and not overwrite:
            raise FileExistsError(self.location)
        return cast(OutputStream, _Writing(self.location))


class _Writing(io.BytesIO):
    """An object that is being written; it exists in the store only once it is complete."""

    def __init__(self, location: str) -> None:
        super().__init__()
        self._location = location

    @override
    def close(self) -> None:
        if not self.closed:
            OBJECTS[self._location] = self.getvalue()
        super().close()


class ObjectsIO(FileIO):
    """PyIceberg's `FileIO` for the store."""

    @override
    def new_input(self, location: str) -> InputFile:
        return _Object(location)

    @override
    def new_output(self, location: str) -> OutputFile:
        return _Object(location)

    @override
    def delete(self, location: str | InputFile | OutputFile) -> None:
        OBJECTS.pop(location if isinstance(location, str) else location.location, None)
