"""Views as metadata files and pointers, like tables: load, create, commit. The calling code checks the user's privileges."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyiceberg.view.metadata import ViewMetadata

from headgate.control.kernel.idempotency import IdempotencyKey
from headgate.control.kernel.ports import Pointer, Store
from headgate.facts.ids import ResourceId
from headgate.lake import idempotency
from headgate.lake.metadata_files import MetadataFile, MetadataFiles
from headgate.lake.views import (
    NewView,
    ViewRequirement,
    ViewUpdate,
    build_updated_view,
    check_view,
    check_view_requirements,
    new_view,
    parse_view,
)
from headgate.lake.warehouse import Warehouse


@dataclass(frozen=True, slots=True)
class LoadedView:
    """A view's metadata with its pointer, which may not be stored yet."""

    pointer: Pointer
    metadata: ViewMetadata

    @property
    def file(self) -> MetadataFile:
        """The file of the metadata."""
        return MetadataFile(self.pointer, self.metadata.location)


class ViewCatalog:
    """The views of one warehouse. Thread-safe."""

    def __init__(self, store: Store, warehouse: Warehouse, clock: Callable[[], float]) -> None:
        self._store = store
        self._warehouse = warehouse
        self._pointed = MetadataFiles(store, warehouse)
        self._clock = clock

    def load(self, view: ResourceId) -> LoadedView:
        """Return a view's current metadata. Raises `MissingMetadataError`."""
        file = self._pointed.find(view)
        metadata = parse_view(self._pointed.read(file))
        check_view(metadata, view, file.location)
        return LoadedView(file.pointer, metadata)

    def create(self, new: NewView, database: ResourceId) -> LoadedView:
        """Write the first metadata of a new view. The pointer is not stored yet: it is stored with the view's fact."""
        view = ResourceId(str(uuid.uuid4()))
        return self._write(new_view(new, view, self._warehouse.location(database, view)), None)

    def is_applied(self, base: LoadedView, once: IdempotencyKey | None) -> bool:
        """Whether the commit was applied to the view before, so that the request is a retry."""
        return idempotency.was_applied(self._store, base.pointer.table, once)

    def commit(
        self,
        base: LoadedView,
        requirements: Sequence[ViewRequirement],
        updates: Sequence[ViewUpdate],
        confirm: Callable[[], None],
        once: IdempotencyKey | None = None,
    ) -> LoadedView:
        """Apply updates. Raises `ConflictError` if another commit was faster, `RuleError` or `InvalidMetadataError`.

        `confirm` raises if the commit is no longer allowed; it is called after the file was written.
        """
        check_view_requirements(requirements, base.metadata)
        metadata = build_updated_view(base.metadata, updates, self._clock())
        check_view(metadata, base.pointer.table, base.metadata.location)
        written = self._write(metadata, base.pointer.metadata_location)
        try:
            confirm()
        except BaseException:
            self.discard(written)
            raise
        self._pointed.swap([(base.pointer, written.file)], idempotency.record(self._store, base.pointer.table, once))
        return written

    def discard(self, written: LoadedView) -> None:
        """Delete a metadata file that no pointer names."""
        self._pointed.discard(written.file)

    def _write(self, metadata: ViewMetadata, base_path: str | None) -> LoadedView:
        content = metadata.model_dump_json(by_alias=True, exclude_none=True).encode()
        file = self._pointed.write(ResourceId(metadata.view_uuid), metadata.location, base_path, content)
        return LoadedView(file.pointer, metadata)
