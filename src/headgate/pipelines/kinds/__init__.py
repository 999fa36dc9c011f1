"""The registry of the kinds of pipelines, one module each. Notebooks and jobs, which run users' code, are planned."""

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
"""All kinds of pipelines, by name."""

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
    """Return the definition in a document. Raises `pydantic.ValidationError` if it is invalid."""
    definition: PipelineDefinition = _DEFINITION.validate_python(document)
    return definition


def kind_of(definition: PipelineDefinition) -> Kind[Any]:
    """Return the kind of a definition."""
    return next(each for each in KINDS.values() if isinstance(definition, each.definition))


def declared_io(definition: PipelineDefinition) -> DeclaredIO:
    """Return the declared inputs and outputs of a definition."""
    return kind_of(definition).touches(definition)
