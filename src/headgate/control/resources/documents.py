"""Documents of resources, on which no decision depends: descriptions, and the content of a contract, a policy and the like."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import InvalidError
from headgate.control.kernel.ports import DocumentPut
from headgate.control.resources.document_kinds import DESCRIPTION
from headgate.control.resources.generic_types import require_generic_type
from headgate.facts.ids import ResourceId

DOCUMENTED = (
    "data_product",
    "output_port",
    "data_contract",
    "definition",
    "policy",
    "tag",
    "source_system",
)
"""Types whose resources have a free-form document."""


@dataclass(frozen=True, slots=True)
class SetDescription:
    """Set the description of a resource; an empty text removes it."""

    resource: ResourceId
    text: str
    name: str = "resource.describe"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `change_description` on it, or to edit it if the model does not have that action."""
        found = view.target(self.resource)
        require_generic_type(found.type)
        view.require_operation(self.name, {"resource": found})
        body = {"text": self.text} if self.text else None
        return CommandEffect((), (DocumentPut(DESCRIPTION, found.id, body),))


@dataclass(frozen=True, slots=True)
class ChangeDocument:
    """Replace the document of a resource."""

    resource: ResourceId
    document: Mapping[str, Any]
    name: str = "resource.change_document"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require to edit it."""
        found = view.target(self.resource)
        view.require_operation(self.name, {"resource": found})
        if found.type not in DOCUMENTED:
            raise InvalidError(f"a `{found.type}` cannot have a document; types that can are {', '.join(DOCUMENTED)}")
        return CommandEffect((), (DocumentPut(found.type, found.id, dict(self.document)),))
