"""What describes a resource and decides nothing: its description, and the document that a contract or a policy is."""

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
"""Types whose resources have a document of any form."""


@dataclass(frozen=True, slots=True)
class SetDescription:
    """The resource is described by this text; an empty one takes the description away."""

    resource: ResourceId
    text: str
    name: str = "resource.describe"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need `change_description` on it, or to edit it where the model has no such action."""
        found = view.target(self.resource)
        require_generic_type(found.type)
        view.require_action(view.action(found, "change_description", "edit", "alter"), found.id)
        body = {"text": self.text} if self.text else None
        return CommandEffect((), (DocumentPut(DESCRIPTION, found.id, body),))


@dataclass(frozen=True, slots=True)
class ChangeDocument:
    """The resource's document is this one."""

    resource: ResourceId
    document: Mapping[str, Any]
    name: str = "resource.change_document"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need to edit it."""
        found = view.target(self.resource)
        view.require_action(view.action(found, "edit", "alter"), found.id)
        if found.type not in DOCUMENTED:
            raise InvalidError(f"a `{found.type}` has no document; there are some of {', '.join(DOCUMENTED)}")
        return CommandEffect((), (DocumentPut(found.type, found.id, dict(self.document)),))
