"""Commands for databases, tables and views: their facts and their catalog pointers are written in one transaction."""

from dataclasses import dataclass

from headgate.control.access.escalation import require_no_escalation
from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import InvalidError, NotEmptyError, NotFoundError
from headgate.control.kernel.ports import Pointer
from headgate.control.resources.attributes import KIND_ATTRIBUTE
from headgate.control.resources.commands import CreateResource, DeleteResource
from headgate.facts.changes import Change, Edge, RelationsSet, ResourceRenamed
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import Resource

PROPERTIES = "database"
"""The kind of document with a database's properties; it is deleted with the resource."""

VIEW = "view"


@dataclass(frozen=True, slots=True)
class DropDatabase:
    """Drop an empty database."""

    database: ResourceId
    name: str = "database.drop"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `database.drop`, and that the database is empty."""
        found = view.target(self.database, "database")
        gone = DeleteResource(found.id).decide(view)
        _refuse_run(view, "drop databases")
        if view.facts.children[found.id]:
            raise NotEmptyError(f"the database `{found.name}` is not empty; drop its tables, views and volumes first")
        return gone


@dataclass(frozen=True, slots=True)
class CreateTable:
    """Create a table, with the pointer to its first metadata. A run's new table becomes an output of its pipeline."""

    database: ResourceId
    table: ResourceId
    title: str
    pointer: Pointer
    name: str = "table.create"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `database.create_table`; a run may create only tables that its pipeline declares."""
        made = CreateResource(self.table, "table", self.database, self.title).decide(view)
        return CommandEffect((*made.changes, *self._declared_output(view)), pointers=(self.pointer,))

    def _declared_output(self, view: CommandContext) -> tuple[Change, ...]:
        pipeline = _pipeline_of(view)
        if pipeline is None:
            return ()
        declared = [each for each in pipeline.edges("output_layers") if each.target == self.database]
        if self.title not in {each.name for each in declared}:
            raise InvalidError(
                f"the pipeline `{pipeline.name}` does not declare the output `{self.title}`; add it to the pipeline's definition"
            )
        # A dropped output keeps the pipeline closed until every declared output exists again.
        facts, here = view.facts, (self.database, self.title)
        awaited = [
            each
            for each in pipeline.edges("output_layers")
            if (each.target, each.name) != here and each.name not in facts.children.get(each.target, ())
        ]
        # An output that has not existed yet is named by its database.
        others = [each for each in pipeline.relations.get("outputs", ()) if (each.target, each.name) != here]
        kept = [edge for edge in others if awaited or edge.target in facts.resources]
        outputs = (*kept, Edge(self.table, name=self.title))
        return (RelationsSet(pipeline.id, {**pipeline.relations, "outputs": outputs}),)


@dataclass(frozen=True, slots=True)
class RegisterTable:
    """Register a table from existing metadata: of a dropped table, or of one that was created elsewhere."""

    database: ResourceId
    table: ResourceId
    title: str
    pointer: Pointer
    name: str = "table.register"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `lake.register_table` and `database.create_table`."""
        database = view.target(self.database, "database")
        view.require_operation(self.name, {"lake": view.facts.resources[database.parent]})
        if _pipeline_of(view) is not None:
            raise InvalidError(
                "a run cannot register tables; register the table outside of the pipeline, or declare it as an output, so that the run creates it"
            )
        made = CreateResource(self.table, "table", self.database, self.title).decide(view)
        return CommandEffect(made.changes, pointers=(self.pointer,))


@dataclass(frozen=True, slots=True)
class CreateView:
    """Create a view, with the pointer to its first metadata: a table resource with a query text instead of rows."""

    database: ResourceId
    view: ResourceId
    title: str
    pointer: Pointer
    name: str = "view.create"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `database.create_view`; a run may not create views."""
        if _pipeline_of(view) is not None:
            raise InvalidError("a run cannot create views; it may only create the tables that its pipeline declares")
        made = CreateResource(
            self.view, "table", self.database, self.title, attributes={KIND_ATTRIBUTE: (VIEW,)}, made_as=VIEW
        ).decide(view)
        return CommandEffect(made.changes, pointers=(self.pointer,))


@dataclass(frozen=True, slots=True)
class ChangeProperties:
    """Change a database's properties: a document in the metadata of the command, on which no decision depends."""

    database: ResourceId
    name: str = "database.change_properties"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `database.alter`."""
        view.require_operation(self.name, {"database": view.target(self.database, "database")})
        _refuse_run(view, "change the properties of databases")
        return CommandEffect(())


@dataclass(frozen=True, slots=True)
class RenameTable:
    """Rename a table or view, perhaps into another database. Its assignments stay."""

    table: ResourceId
    database: ResourceId
    title: str
    name: str = "table.rename"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `table.alter` and `table.drop` on it, and to create one in the target database; the caller gains no privilege."""
        found = view.target(self.table, "table")
        places = {"table": found, "database": view.target(self.database, "database")}
        view.require_operation(self.name, places, type=VIEW if is_view(found) else "table")
        _refuse_run(view, "rename tables")
        view.new_name(self.table, self.database, self.title)
        change = ResourceRenamed(self.table, self.database, self.title)
        require_no_escalation(view, self.table, change)
        return CommandEffect((change,))


@dataclass(frozen=True, slots=True)
class DropTable:
    """Drop a table, with its pointer and the assignments on it."""

    table: ResourceId
    name: str = "table.drop"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `table.drop`."""
        view.target(self.table, "table")
        gone = DeleteResource(self.table).decide(view)
        _refuse_run(view, "drop tables")
        return gone


def is_view(resource: Resource) -> bool:
    """Return whether a resource of type `table` is a view."""
    return VIEW in resource.attributes.get(KIND_ATTRIBUTE, ())


def _refuse_run(view: CommandContext, act: str) -> None:
    """Raise `InvalidError` for a run, whatever the access model needs for the operation: it changes only its outputs."""
    if _pipeline_of(view) is not None:
        raise InvalidError(f"a run cannot {act}; do it outside of the pipeline")


def _pipeline_of(view: CommandContext) -> Resource | None:
    if view.caller is None or view.caller.run is None:
        return None
    run = view.facts.runs.get(view.caller.run)
    if run is None or run.pipeline not in view.facts.resources:
        raise NotFoundError(
            "the pipeline of the run was deleted, so the run may no longer change tables; create the "
            "pipeline again and run it"
        )
    return view.facts.resources[run.pipeline]
