"""The kinds of documents that a resource may have."""

from collections.abc import Mapping

from headgate.control.kernel.vocabulary import shipped_vocabulary

_KEPT_BY_RUNS: Mapping[str, tuple[str, ...]] = {"visualization": ("shown",)}
"""The kinds of documents that the runs of a kind of pipeline write."""

DESCRIPTION = "description"
"""The kind of document that describes a resource of any type."""


def document_kinds(type: str) -> tuple[str, ...]:
    """Return the kinds of documents that a resource of a type may have, under its id."""
    definition = "pipeline" if type in shipped_vocabulary().pipeline_kinds else type
    return (definition, *_KEPT_BY_RUNS.get(type, ()), DESCRIPTION)
