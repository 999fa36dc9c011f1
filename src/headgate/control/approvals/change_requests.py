"""Changes that somebody else has to approve. What is to change is a document; who may decide on it are facts."""

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
    """Somebody files a change of a resource. `author` is who did, where not the caller but the deployment says so."""

    change: ResourceId
    resource: ResourceId
    document: Mapping[str, Any] = field(default_factory=dict[str, Any])
    author: PrincipalId | None = None
    name: str = "change.submit"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need `submit_change` on the resource."""
        found = view.target(self.resource)
        view.require_action(f"{found.type}.submit_change", found.id)
        view.free_id(self.change)
        filed = ChangeRequested(self.change, found.id, view.actor or self.author)
        return CommandEffect((filed,), (DocumentPut("change_request", self.change, dict(self.document)),))


@dataclass(frozen=True, slots=True)
class ApproveChange:
    """The change is made, as it was filed; `proposal` is what its document says, None where that is made elsewhere."""

    change: ResourceId
    proposal: Proposal | None = None
    name: str = "change.approve"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need `change_request.approve`, and what making the change needs."""
        decided = _decide_change(view, self.change, "approve", "approved")
        if self.proposal is None:
            return decided
        found = view.target(view.facts.change_requests[self.change].resource)
        made = command_from_payload(found, self.proposal).decide(view)
        return CommandEffect((*decided.changes, *made.changes), made.documents, made.pointers)


@dataclass(frozen=True, slots=True)
class RejectChange:
    """The change comes to nothing."""

    change: ResourceId
    name: str = "change.reject"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need `change_request.reject`."""
        return _decide_change(view, self.change, "reject", "rejected")


def _decide_change(view: CommandContext, change: ResourceId, verb: str, state: str) -> CommandEffect:
    view.target(change, "change_request")
    view.require_action(f"change_request.{verb}", change)
    return CommandEffect((ChangeDecided(change, state),))
