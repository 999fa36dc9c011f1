"""Access agreements: requests for access to the tables of an output port, and the agreements that approve them."""

from dataclasses import dataclass

from headgate.control.access.escalation import find_owners, is_approved_at_once
from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import InvalidError
from headgate.control.kernel.operations import OperationPlace
from headgate.control.kernel.ports import DocumentPut
from headgate.decision.tree import subject_kind
from headgate.facts.changes import AccessApproved, AccessDeleted, AccessEnded, AccessRequested, Change, RoleAssigned
from headgate.facts.ids import PrincipalId, ResourceId, SubjectId
from headgate.facts.snapshot import Agreement, Resource, Snapshot
from headgate.model.model import Model


@dataclass(frozen=True, slots=True)
class RequestAccess:
    """Request read access to the tables of a port for a consumer: a user or a team.

    It is approved at once, from now on and without an end, if the port approves automatically or the consumer owns its
    data product. `author` is the user who made the request, if the deployment files it instead of the caller.
    """

    access: ResourceId
    port: ResourceId
    consumer: SubjectId
    purpose: str
    author: PrincipalId | None = None
    name: str = "access.request"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `output_port.request_access` for that consumer and purpose."""
        port = _port(view, self)
        requested = AccessRequested(self.access, port.id, self.consumer, view.actor or self.author)
        agreed = (
            _build_approval(view, self.access, requested, view.now, None) if _at_once(view, port, self.consumer) else ()
        )
        return CommandEffect((requested, *agreed), (_purpose(self.access, self.purpose),))


@dataclass(frozen=True, slots=True)
class AddAccess:
    """Add an agreement: a consumer gets read access to the tables of a port from `starts` until `ends`, without a request."""

    access: ResourceId
    port: ResourceId
    consumer: SubjectId
    purpose: str
    starts: float
    ends: float | None = None
    name: str = "access.add"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `output_port.add_access`."""
        port = _port(view, self)
        requested = AccessRequested(self.access, port.id, self.consumer, view.actor)
        agreed = _build_approval(view, self.access, requested, self.starts, self.ends)
        return CommandEffect((requested, *agreed), (_purpose(self.access, self.purpose),))


@dataclass(frozen=True, slots=True)
class ApproveAccess:
    """Approve a request: it becomes an agreement from `starts` until `ends` (seconds since the epoch; None = no end)."""

    access: ResourceId
    starts: float
    ends: float | None = None
    name: str = "access.approve"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `access.approve`."""
        filed = _require_agreement(view, self.access, "access.approve")
        return CommandEffect(_build_approval(view, self.access, filed, self.starts, self.ends))


@dataclass(frozen=True, slots=True)
class RejectAccess:
    """Reject a request."""

    access: ResourceId
    name: str = "access.reject"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `access.reject`."""
        _require_agreement(view, self.access, "access.reject")
        return CommandEffect((AccessEnded(self.access, "rejected"),))


@dataclass(frozen=True, slots=True)
class EditAccess:
    """Change the purpose of a request or agreement, and the dates of an agreement."""

    access: ResourceId
    starts: float
    ends: float | None
    purpose: str
    name: str = "access.edit"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `access.edit`."""
        filed = _require_agreement(view, self.access, "access.edit")
        if not self.purpose.strip():
            raise InvalidError("the purpose of the agreement is empty; give it in `purpose`")
        dates = _build_approval(view, self.access, filed, self.starts, self.ends) if filed.state == "approved" else ()
        return CommandEffect(dates, (_purpose(self.access, self.purpose),))


@dataclass(frozen=True, slots=True)
class TerminateAccess:
    """Terminate an agreement now."""

    access: ResourceId
    name: str = "access.terminate"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `access.terminate`."""
        _require_agreement(view, self.access, "access.terminate")
        return CommandEffect((AccessEnded(self.access, "terminated"),))


@dataclass(frozen=True, slots=True)
class DeleteAccess:
    """Delete a request or agreement, with the access that it gave."""

    access: ResourceId
    name: str = "access.delete"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `access.delete`."""
        _require_agreement(view, self.access, "access.delete")
        return CommandEffect((AccessDeleted(self.access),), (DocumentPut("access", self.access, None),))


def _port(view: CommandContext, asked: RequestAccess | AddAccess) -> Resource:
    """Return the port, if the caller may do this and the consumer is valid. Raises a `CommandError` otherwise."""
    port = view.target(asked.port, "output_port")
    on, given = {"consumer": (ResourceId(asked.consumer),)}, {"purpose": (asked.purpose,)}
    view.require_operation(asked.name, {"port": OperationPlace(port, on, given)})
    view.require_visible_subject(asked.consumer)
    view.free_id(asked.access)
    model, role = _role(view, port)
    kind = subject_kind(view.facts, asked.consumer)
    if kind not in model.roles[role].to:
        raise InvalidError(f"a `{model.local_name(kind)}` cannot be the consumer; choose a user or a team")
    return port


def _role(view: CommandContext, port: Resource) -> tuple[Model, str]:
    """Return the role that an agreement on the port assigns: the model bridges it to the tables of the port."""
    model = view.model_for(port.type, port.id)
    if not model.bridges:
        raise InvalidError(
            f"the access model `{model.name}` does not support access agreements; request access to the "
            "resource, or ask for a role on it"
        )
    return model, model.bridges[0].role


def _build_approval(
    view: CommandContext, access: ResourceId, about: AccessRequested | Agreement, starts: float, ends: float | None
) -> tuple[Change, ...]:
    if ends is not None and ends <= starts:
        raise InvalidError("the end of the agreement is not after its start; choose a later end")
    port = view.target(about.port)
    model, role = _role(view, port)
    if not _is_known(view.facts, about.consumer):
        raise InvalidError("the consumer of the agreement does not exist any more; reject or delete the agreement")
    given = RoleAssigned(about.consumer, role, port.id, model.name, view.actor, ends, starts, access)
    return AccessApproved(access, starts, ends), given


def _is_known(facts: Snapshot, consumer: SubjectId) -> bool:
    return consumer in facts.principals or consumer in facts.resources


def _at_once(view: CommandContext, port: Resource, consumer: SubjectId) -> bool:
    return is_approved_at_once(port.attributes) or consumer in find_owners(view, port)


def _require_agreement(view: CommandContext, access: ResourceId, operation: str) -> Agreement:
    view.require_operation(operation, {"access": view.target(access, "access")})
    return view.facts.agreements[access]


def _purpose(access: ResourceId, purpose: str) -> DocumentPut:
    return DocumentPut("access", access, {"purpose": purpose})
