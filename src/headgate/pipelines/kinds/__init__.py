"""The kinds of pipelines: one module each, and this registry. Notebooks and jobs, which run people's own code, follow."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from headgate.pipelines.definitions.declared_io import DeclaredIO
from headgate.pipelines.definitions.definition import PipelineDefinition
from headgate.pipelines.definitions.kind import Kind
from headgate.pipelines.kinds import (
    destination,
    history,
    integration,
    query,
    saved_query,
    source,
    stream_capture,
    table_service,
    visualization,
)

KINDS: Mapping[str, Kind[Any]] = {
    each.name: each
    for each in (
        source.KIND,
        integration.KIND,
        query.KIND,
        history.KIND,
        destination.KIND,
        visualization.KIND,
        saved_query.KIND,
        stream_capture.KIND,
        table_service.KIND,
    )
}
"""Every kind that can be defined, by its name."""

Definition = Annotated[
    source.SourceDefinition
    | integration.IntegrationDefinition
    | query.QueryDefinition
    | history.HistoryDefinition
    | destination.DestinationDefinition
    | visualization.VisualizationDefinition
    | saved_query.SavedQueryDefinition
    | stream_capture.StreamCaptureDefinition
    | table_service.TableServiceDefinition,
    Field(discriminator="kind"),
]
"""A definition of any kind."""

_DEFINITION: TypeAdapter[Any] = TypeAdapter(Definition)


def parse_definition(document: Any) -> PipelineDefinition:
    """Return the definition that a document holds. Raises `pydantic.ValidationError`."""
    definition: PipelineDefinition = _DEFINITION.validate_python(document)
    return definition


def kind_of(definition: PipelineDefinition) -> Kind[Any]:
    """Return the kind that a definition is of."""
    return next(each for each in KINDS.values() if isinstance(definition, each.definition))


def declared_io(definition: PipelineDefinition) -> DeclaredIO:
    """Return what a definition declares."""
    return kind_of(definition).touches(definition)
