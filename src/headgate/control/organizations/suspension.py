"""Suspending and resuming an organization: no caller acts in it meanwhile, and nothing in it is lost."""

from dataclasses import dataclass

from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.facts.changes import AttributesSet
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import SUSPENDED

_ACTION = "deployment.suspend_organization"


@dataclass(frozen=True, slots=True)
class SuspendOrganization:
    """Nothing in the organization is allowed to any caller until it is resumed; suspended already, it stays so.

    The same command is written to both logs: the organization's own decides by it, the deployment's says which operator
    it was.
    """

    organization: ResourceId
    name: str = "organization.suspend"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need `deployment.suspend_organization`; in the organization's own log only the deployment itself has that."""
        view.require_action(_ACTION, view.root)
        found = view.target(self.organization, "organization")
        return CommandEffect((AttributesSet(found.id, {**found.attributes, SUSPENDED: ("true",)}),))


@dataclass(frozen=True, slots=True)
class ResumeOrganization:
    """Everything in the organization is decided as before it was suspended; one that is not suspended stays so."""

    organization: ResourceId
    name: str = "organization.resume"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need what suspending needs."""
        view.require_action(_ACTION, view.root)
        found = view.target(self.organization, "organization")
        left = {name: words for name, words in found.attributes.items() if name != SUSPENDED}
        return CommandEffect((AttributesSet(found.id, left),))
