"""Change requests: changes that another user has to approve. The change is a document; the facts say which users may decide."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headgate.control.approvals.change_payload import Proposal, command_from_payload
from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.ports import DocumentPut
from headgate.facts.changes import ChangeDecided, ChangeRequested
from headgate.facts.ids import PrincipalId, ResourceId


@dataclass(frozen=True, slots=True)
class SubmitChange:
    """File a change of a resource. `author` is the user who files it, if the deployment sends the command."""

    change: ResourceId
    resource: ResourceId
    document: Mapping[str, Any] = field(default_factory=dict[str, Any])
    author: PrincipalId | None = None
    name: str = "change.submit"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `submit_change` on the resource."""
        found = view.target(self.resource)
        view.require_operation(self.name, {"resource": found})
        view.free_id(self.change)
        filed = ChangeRequested(self.change, found.id, view.actor or self.author)
        return CommandEffect((filed,), (DocumentPut("change_request", self.change, dict(self.document)),))


@dataclass(frozen=True, slots=True)
class ApproveChange:
    """Approve a change and make it as filed. `proposal` is its payload; None if the change is made outside this command."""

    change: ResourceId
    proposal: Proposal | None = None
    name: str = "change.approve"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `change_request.approve` and the privileges that the change itself needs."""
        decided = _decide_change(view, self.change, "approve", "approved")
        if self.proposal is None:
            return decided
        found = view.target(view.facts.change_requests[self.change].resource)
        made = command_from_payload(found, self.proposal).decide(view)
        return CommandEffect((*decided.changes, *made.changes), made.documents, made.pointers)


@dataclass(frozen=True, slots=True)
class RejectChange:
    """Reject a change."""

    change: ResourceId
    name: str = "change.reject"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `change_request.reject`."""
        return _decide_change(view, self.change, "reject", "rejected")


def _decide_change(view: CommandContext, change: ResourceId, verb: str, state: str) -> CommandEffect:
    view.require_operation(f"change.{verb}", {"change_request": view.target(change, "change_request")})
    return CommandEffect((ChangeDecided(change, state),))
