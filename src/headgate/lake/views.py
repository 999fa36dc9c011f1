"""View metadata: created, updated, and parsed from a metadata file. Its SQL is treated as plain text.

A user who reads a view needs their own privileges on all that it reads, so no content of a view can grant access.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pyiceberg.schema import Schema
from pyiceberg.view.metadata import ViewHistoryEntry, ViewMetadata, ViewVersion

from headgate.facts.ids import ResourceId
from headgate.lake.commit_limits import check_property_sizes, check_updates
from headgate.lake.errors import ConflictError, InvalidMetadataError, RuleError
from headgate.lake.java_metadata_rules import require_readable_view
from headgate.lake.metadata_ids import LAST_ADDED, schema_key
from headgate.lake.metadata_rules import check_properties, check_view_columns
from headgate.lake.schema_documents import DocumentSchema
from headgate.lake.validation import require_valid

KEPT = 10
"""The number of versions that are kept, as by Iceberg's own writers."""
KEPT_SCHEMAS = 100
"""If a view has more schemas, only those of the kept versions are kept."""
KEPT_LOG = 100
"""The number of entries of the version log that are kept: when each version became current."""


@dataclass(frozen=True, slots=True)
class NewView:
    """A client's definition of a new view. `schema` is the version's schema; the schema id in `version` is ignored."""

    schema: Schema
    version: ViewVersion
    properties: Mapping[str, str] = field(default_factory=dict[str, str])


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, populate_by_name=True)


class _ViewDocument(ViewMetadata):
    """The metadata of a view in its file."""

    schemas: list[DocumentSchema] = Field(default_factory=list)


class _AssignUUID(_Message):
    action: Literal["assign-uuid"]
    uuid: str


class _UpgradeFormat(_Message):
    action: Literal["upgrade-format-version"]
    format_version: int = Field(alias="format-version")


class _SetLocation(_Message):
    action: Literal["set-location"]
    location: str


class _SetProperties(_Message):
    action: Literal["set-properties"]
    updates: dict[str, str]


class _RemoveProperties(_Message):
    action: Literal["remove-properties"]
    removals: tuple[str, ...]


class _AddSchema(_Message):
    action: Literal["add-schema"]
    schema_: DocumentSchema = Field(alias="schema")


class _AddVersion(_Message):
    action: Literal["add-view-version"]
    version: ViewVersion = Field(alias="view-version")


class _SetVersion(_Message):
    action: Literal["set-current-view-version"]
    version: int = Field(alias="view-version-id")


ViewUpdate = Annotated[
    _AssignUUID
    | _UpgradeFormat
    | _SetLocation
    | _SetProperties
    | _RemoveProperties
    | _AddSchema
    | _AddVersion
    | _SetVersion,
    Field(discriminator="action"),
]


class ViewRequirement(_Message):
    """A requirement of a commit: the view must have this uuid."""

    type: Literal["assert-view-uuid"]
    uuid: str


def new_view(new: NewView, view: ResourceId, location: str) -> ViewMetadata:
    """Return the first metadata of a view. Raises `RuleError` or `InvalidMetadataError`."""
    check_properties(new.properties)
    check_property_sizes({}, new.properties)
    check_view_columns((), (new.schema,))
    version = new.version.model_copy(update={"version_id": 1, "schema_id": 0})
    schema = new.schema.model_copy(update={"schema_id": 0})
    fields = {
        "view-uuid": view,
        "format-version": 1,
        "location": location,
        "schemas": [schema],
        "current-version-id": 1,
        "versions": [_one_per_dialect(version)],
        "version-log": [_entry(version.timestamp_ms, 1)],
        "properties": dict(new.properties),
    }
    return _read_back(require_valid("view", lambda: ViewMetadata.model_validate(fields)))


def build_updated_view(base: ViewMetadata, updates: Sequence[ViewUpdate], now: float) -> ViewMetadata:
    """Return the metadata after the updates (`now` in seconds since the epoch). Raises `RuleError` or `InvalidMetadataError`."""
    check_updates(updates)
    building = _ViewBuilder(base, int(now * 1000))
    for update in updates:
        building.apply(update)
    made = building.metadata()
    check_property_sizes(base.properties, made.properties)
    check_view_columns(base.schemas, made.schemas)
    return _read_back(made)


def _read_back(made: ViewMetadata) -> ViewMetadata:
    """Return the metadata as its file will be read: one that could not be read would lose the view."""
    read = parse_view(made.model_dump_json(by_alias=True).encode())
    require_readable_view(read)
    return read


def check_view_requirements(requirements: Sequence[ViewRequirement], base: ViewMetadata) -> None:
    """Raise `ConflictError` for the first requirement that the metadata does not meet."""
    if any(each.uuid != base.view_uuid for each in requirements):
        raise ConflictError(
            "the view does not have the uuid that the commit requires; load the view again and retry the commit"
        )


def check_view(metadata: ViewMetadata, view: ResourceId, location: str) -> None:
    """Raise `RuleError` unless the metadata is of this view, and has its location."""
    if metadata.view_uuid != view:
        raise RuleError(
            "the `view-uuid` of the metadata is not the view's uuid, which cannot change; send the view's own uuid"
        )
    if metadata.location != location:
        raise RuleError(
            "the `location` of the metadata is not the view's location, which cannot change; send the view's own location"
        )
    check_properties(metadata.properties)


def parse_view(content: bytes) -> ViewMetadata:
    """Return the metadata in the content of a file. Raises `InvalidMetadataError`."""
    return require_valid("view", lambda: _complete(_ViewDocument.model_validate_json(content)))


class _ViewBuilder:
    """A view's metadata while updates are applied to it, in order."""

    def __init__(self, base: ViewMetadata, now_ms: int) -> None:
        self._base = base
        self._now_ms = now_ms
        # Schemas and versions by their ids, and the ids by content: of two equal ones, the first one's id.
        self._schemas = {each.schema_id: each for each in base.schemas}
        self._versions = {each.version_id: each for each in base.versions}
        self._schema_ids = {schema_key(each): id for id, each in reversed(self._schemas.items())}
        self._version_ids = {_version_key(each): id for id, each in reversed(self._versions.items())}
        self._log = list(base.version_log)
        self._current = base.current_version_id
        self._properties = dict(base.properties)
        self._added: dict[str, int] = {}

    def apply(self, update: ViewUpdate) -> None:
        match update:
            case _AddSchema():
                self._add_schema(update.schema_)
            case _AddVersion():
                self._add_version(update.version)
            case _SetVersion():
                self._set_version(update.version)
            case _SetProperties():
                self._properties |= update.updates
            case _RemoveProperties():
                for key in update.removals:
                    self._properties.pop(key, None)
            case _AssignUUID():
                _require_unchanged("uuid", update.uuid, self._base.view_uuid)
            case _SetLocation():
                _require_unchanged("location", update.location, self._base.location)
            case _UpgradeFormat():
                _require_unchanged("format version", update.format_version, self._base.format_version)

    def metadata(self) -> ViewMetadata:
        kept = {*sorted(self._versions)[-KEPT:], self._current}
        versions = [each for id, each in self._versions.items() if id in kept]
        changed = {
            "schemas": self._select_schemas(versions),
            "versions": versions,
            "version_log": [each for each in self._log if each.version_id in kept][-KEPT_LOG:],
            "current_version_id": self._current,
            "properties": self._properties,
        }
        return self._base.model_copy(update=changed)

    def _select_schemas(self, versions: Sequence[ViewVersion]) -> list[Schema]:
        if len(self._schemas) <= KEPT_SCHEMAS:
            return list(self._schemas.values())
        used = {each.schema_id for each in versions}
        return [each for id, each in self._schemas.items() if id in used]

    def _add_schema(self, schema: Schema) -> None:
        free = max(self._schemas) + 1
        id = self._schema_ids.setdefault(schema_key(schema), free)
        if id == free:
            self._schemas[id] = schema.model_copy(update={"schema_id": id})
        self._added["schema"] = id

    def _add_version(self, version: ViewVersion) -> None:
        schema = self._resolve_id("schema", version.schema_id)
        if schema not in self._schemas:
            raise InvalidMetadataError(
                f"the new version has the `schema-id` {schema}, which the view does not have; add that schema first"
            )
        placed = _one_per_dialect(version.model_copy(update={"schema_id": schema}))
        free = max(self._versions) + 1
        id = self._version_ids.setdefault(_version_key(placed), free)
        if id == free:
            self._versions[id] = placed.model_copy(update={"version_id": id})
        self._added["version"] = id

    def _set_version(self, wanted: int) -> None:
        id = self._resolve_id("version", wanted)
        if id not in self._versions:
            # The client chooses an id for the version that it adds; the view may have assigned another one.
            raise InvalidMetadataError(
                f"`set-current-view-version` names the version {id}, which the view does not have; name one of its versions, or `-1` for the version added last"
            )
        if id != self._current:
            self._current = id
            self._log.append(_entry(self._now_ms, id))

    def _resolve_id(self, kind: str, id: int) -> int:
        if id != LAST_ADDED:
            return id
        if kind not in self._added:
            raise InvalidMetadataError(
                f"`-1` means the {kind} added last, but the commit adds no {kind}; name the id of a {kind} of the view"
            )
        return self._added[kind]


def _entry(at_ms: int, version: int) -> ViewHistoryEntry:
    return ViewHistoryEntry.model_validate({"timestamp-ms": at_ms, "version-id": version})


def _require_unchanged(what: str, wanted: object, is_so: object) -> None:
    if wanted != is_so:
        raise RuleError(f"the commit changes the {what} of the view, which cannot change; leave that update out")


def _one_per_dialect(version: ViewVersion) -> ViewVersion:
    dialects = [each.root.dialect.casefold() for each in version.representations]
    if not dialects:
        raise InvalidMetadataError("a version of the view has no SQL query; add one in `representations`")
    if len(set(dialects)) != len(dialects):
        raise InvalidMetadataError(
            "a version of the view has two SQL queries of one dialect; send one for each dialect"
        )
    return version


def _version_key(version: ViewVersion) -> Hashable:
    """Return the content of a version without its id and time."""
    fields = version.model_dump(exclude={"version_id", "timestamp_ms"})
    return tuple(sorted((key, repr(value)) for key, value in fields.items()))


def _complete(metadata: ViewMetadata) -> ViewMetadata:
    schemas = {each.schema_id for each in metadata.schemas}
    if metadata.current_version_id not in {each.version_id for each in metadata.versions}:
        raise ValueError("`current-version-id` names a version that is not in `versions`; name one of `versions`")
    if any(each.schema_id not in schemas for each in metadata.versions):
        raise ValueError("a version of the view has a `schema-id` that is not in `schemas`; add that schema")
    return metadata
