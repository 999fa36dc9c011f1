"""Request messages of the Iceberg REST specification."""

import json
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import TableRequirement
from pyiceberg.view.metadata import ViewVersion

from headgate.control.kernel.names import describe_new_name_fault
from headgate.control.text.validation_faults import first_fault
from headgate.endpoints.iceberg_rest.errors import bad_request
from headgate.lake.commit_limits import describe_updates_fault
from headgate.lake.metadata import NewTable
from headgate.lake.schema_documents import DocumentOrder, DocumentSchema, DocumentSpec, DocumentUpdate
from headgate.lake.views import NewView, ViewRequirement, ViewUpdate

M = TypeVar("M", bound=BaseModel)
MOST = 100
"""The maximum number of tables in one transaction."""


def _usable(name: str) -> str:
    fault = describe_new_name_fault(name)
    if fault is not None:
        raise ValueError(fault)
    return name


NewName = Annotated[str, AfterValidator(_usable)]


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, populate_by_name=True)


class CreateNamespace(_Message):
    """A new database. Namespaces have one level."""

    namespace: tuple[NewName]
    properties: dict[str, str] = Field(default_factory=dict)


class CreateTableBody(_Message):
    """A new table, created at once or (`stage-create`) with its first commit."""

    name: NewName
    location: str | None = None
    schema_: DocumentSchema = Field(alias="schema")
    partition_spec: DocumentSpec | None = Field(alias="partition-spec", default=None)
    write_order: DocumentOrder | None = Field(alias="write-order", default=None)
    stage_create: bool = Field(alias="stage-create", default=False)
    properties: dict[str, str] = Field(default_factory=dict)

    def new_table(self) -> NewTable:
        """Return the message as an argument of the lake."""
        return NewTable(
            self.schema_,
            self.partition_spec or UNPARTITIONED_PARTITION_SPEC,
            self.write_order or UNSORTED_SORT_ORDER,
            self.properties,
        )


class ChangePropertiesBody(_Message):
    """Properties of a database to set (`updates`) and to remove (`removals`)."""

    updates: dict[str, str] = Field(default_factory=dict)
    removals: tuple[str, ...] = ()


class RegisterTableBody(_Message):
    """A table whose metadata file exists already."""

    name: NewName
    metadata_location: str = Field(alias="metadata-location")
    overwrite: bool = False


class CreateViewBody(_Message):
    """A new view."""

    name: NewName
    location: str | None = None
    schema_: DocumentSchema = Field(alias="schema")
    version: ViewVersion = Field(alias="view-version")
    properties: dict[str, str] = Field(default_factory=dict)

    def new_view(self) -> NewView:
        """Return the message as an argument of the lake."""
        return NewView(self.schema_, self.version, self.properties)


class Identifier(_Message):
    """The name of a table to look up. Any text is accepted; no table has an invalid name."""

    namespace: tuple[str, ...]
    name: str


class NewIdentifier(_Message):
    """The new name of a table."""

    namespace: tuple[NewName]
    name: NewName


class RenameBody(_Message):
    """The old and the new name of a table."""

    source: Identifier
    destination: NewIdentifier


class CommitTable(_Message):
    """Changes to a table, and the requirements that must hold for them."""

    identifier: Identifier | None = None
    requirements: tuple[TableRequirement, ...] = ()
    updates: tuple[DocumentUpdate, ...]


def _bounded(changes: tuple[CommitTable, ...]) -> tuple[CommitTable, ...]:
    fault = describe_updates_fault(update for each in changes for update in each.updates)
    if fault is not None:
        raise ValueError(fault)
    return changes


class CommitTransaction(_Message):
    """Changes to several tables, all or none."""

    table_changes: Annotated[
        tuple[CommitTable, ...],
        Field(alias="table-changes", min_length=1, max_length=MOST),
        AfterValidator(_bounded),
    ]


class CommitView(_Message):
    """Changes to a view, and the requirements that must hold for them."""

    identifier: Identifier | None = None
    requirements: tuple[ViewRequirement, ...] = ()
    updates: tuple[ViewUpdate, ...]


class MetricsReport(BaseModel):
    """A metrics report of a client. Only its type is read."""

    report_type: Annotated[str, Field(alias="report-type")]


def parse_catalog_message(kind: type[M], body: bytes) -> M:
    """Return the message in `body`. Raises `SpecError` 400 with the fault, which quotes nothing else of the input."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        fault = first_fault(error.errors(), _form(body))
        if fault.at:
            raise bad_request(f"the field `{fault.at}` of the request is invalid: {fault.sentence}") from error
        raise bad_request(f"the request is invalid: {fault.sentence}") from error
    except Exception as error:  # PyIceberg's validators raise errors of any type
        raise bad_request(f"the request is invalid: {error}") from error


def _form(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
