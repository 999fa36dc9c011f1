"""The kind `integration`: like a source, but inside a module of integrations; its streams name the tables."""

from typing import Literal

from headgate.pipelines.definitions.kind import Kind
from headgate.pipelines.kinds.source import Streaming, backfill_unsupported_reason, declare_io, run_source


class IntegrationDefinition(Streaming):
    """Reads through a declared connection into one table per stream."""

    kind: Literal["integration"]


KIND = Kind("integration", IntegrationDefinition, declare_io, run_source, backfill_unsupported_reason)
