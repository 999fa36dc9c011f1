"""The kind `stream_capture`: loads the files that arrive in a folder into a table, each exactly once, until it is paused."""

from headgate.pipelines.definitions.context import RunExecution
from headgate.pipelines.definitions.declared_io import DeclaredIO, Output
from headgate.pipelines.definitions.definition import split_name
from headgate.pipelines.definitions.kind import Kind
from headgate.pipelines.definitions.stream_capture import StreamCaptureDefinition


def _touches(definition: StreamCaptureDefinition) -> DeclaredIO:
    others = {"connections": definition.connection, "source": definition.source, "cluster": definition.cluster}
    named = {relation: (name,) for relation, name in others.items() if name is not None}
    database = ".".join(split_name(definition.into)[:-1])
    return DeclaredIO(outputs=(Output(definition.name, definition.into),), others={**named, "target": (database,)})


def _run(definition: StreamCaptureDefinition, execution: RunExecution) -> None:
    from headgate.pipelines.loading.folder_capture import capture

    capture(definition, execution)


KIND = Kind("stream_capture", StreamCaptureDefinition, _touches, _run)
