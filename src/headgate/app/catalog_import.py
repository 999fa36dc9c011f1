"""Import of the tables of another Iceberg catalog. Their files are not moved."""

from collections.abc import Iterator
from dataclasses import dataclass

from headgate.app.http.lakes import file_parsers
from headgate.control.catalog.tables import RegisterTable
from headgate.control.kernel.errors import CommandError
from headgate.control.kernel.ids import new_id
from headgate.control.kernel.names import describe_new_name_fault
from headgate.control.organizations.organization import Organization, Organizations
from headgate.control.resources.commands import CreateResource
from headgate.facts.ids import ResourceId
from headgate.lake.file_parsers import FileParsers
from headgate.lake.metadata_files import LoadedTable, location_of
from headgate.lake.other_catalog import ListedTable, OtherCatalog
from headgate.lake.register import import_foreign
from headgate.lake.warehouse import Warehouse

LAKE = "lake"


@dataclass(frozen=True, slots=True)
class ImportCandidate:
    """A table of another catalog: its loaded metadata, or the `problem` for which it cannot be imported."""

    name: tuple[str, ...]
    loaded: LoadedTable | None = None
    problem: str = ""


class CatalogImport:
    """Imports tables of another catalog into the lake of an organization, with the deployment itself as the actor."""

    def __init__(self, organization: Organization, organizations: Organizations, warehouse: Warehouse) -> None:
        """`organizations` are all of the deployment: an imported table may not have the location of one of their tables."""
        self._organization = organization
        self._warehouse = warehouse
        pointers = (pointer for each in organizations.list_all() for pointer in each.store.pointers())
        self._taken = [location_of(each.metadata_location) for each in pointers]

    def scan(self, source: OtherCatalog) -> Iterator[ImportCandidate]:
        """Yield every table of the catalog, in order, each with the problem that prevents its import, if there is one.

        Every file of a table is checked. Raises `OtherCatalogError`.
        """
        yield from map(self._judge, source.tables())

    def import_table(self, found: ImportCandidate) -> ImportCandidate:
        """Create the table, and its database if it does not exist, without assignments. Return the result."""
        if found.loaded is None:
            return found
        try:
            command = RegisterTable(
                self._database(found.name[0]), _id(found.loaded), found.name[1], found.loaded.pointer
            )
            self._organization.control.execute(command, None)
        except CommandError as error:
            return ImportCandidate(found.name, problem=str(error))
        return found

    def _judge(self, listed: ListedTable) -> ImportCandidate:
        name = listed.name
        if problem := self._fault_of_name(name) or listed.problem:
            return ImportCandidate(name, problem=problem)
        parsers = FileParsers(file_parsers(), self._organization.id)
        try:
            loaded = import_foreign(self._warehouse, listed.metadata_location, self._taken, parsers)
        except Exception as error:  # noqa: BLE001 (each kind of storage has its own errors)
            return ImportCandidate(name, problem=str(error))
        if _id(loaded) in self._organization.control.snapshot.resources:
            return ImportCandidate(
                name,
                problem="the organization already has a table with the UUID of this table; to import it again, drop that table first, without purging its files",
            )
        self._taken.append(loaded.metadata.location)
        return ImportCandidate(name, loaded)

    def _fault_of_name(self, name: tuple[str, ...]) -> str:
        if len(name) != 2:  # noqa: PLR2004 (a database and a table)
            return "a table must be in a namespace of one level, as in `database.table`; move the table in the other catalog"
        if fault := next(filter(None, map(describe_new_name_fault, name)), None):
            return f"the name of the table or of its namespace cannot be used: {fault}; rename it in the other catalog"
        if self._organization.control.snapshot.find((LAKE, *name)) is not None:
            return "the organization already has a table or view of this name; rename one of the two"
        return ""

    def _database(self, name: str) -> ResourceId:
        facts, control = self._organization.control.snapshot, self._organization.control
        there = facts.find((LAKE, name))
        if there is not None:
            return there.id
        lake = facts.find((LAKE,))
        made = ResourceId(new_id("d"))
        control.execute(CreateResource(made, "database", lake.id if lake else ResourceId(LAKE), name), None)
        return made


def _id(loaded: LoadedTable) -> ResourceId:
    return loaded.pointer.table
