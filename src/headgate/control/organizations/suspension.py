"""Suspension of an organization: until it is resumed no caller may act in it, and no data is lost."""

from dataclasses import dataclass

from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.facts.changes import AttributesSet
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import SUSPENDED

_ACTION = "deployment.suspend_organization"


@dataclass(frozen=True, slots=True)
class SuspendOrganization:
    """Suspend an organization: every caller is refused until it is resumed. Has no effect if it is suspended already.

    The command is written to both logs: decisions depend on the organization's own, the deployment's names the operator.
    """

    organization: ResourceId
    name: str = "organization.suspend"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `deployment.suspend_organization`; in the organization's own log only the deployment itself has it."""
        view.require_action(_ACTION, view.root)
        found = view.target(self.organization, "organization")
        return CommandEffect((AttributesSet(found.id, {**found.attributes, SUSPENDED: ("true",)}),))


@dataclass(frozen=True, slots=True)
class ResumeOrganization:
    """Resume a suspended organization: decisions are as before. Has no effect if it is not suspended."""

    organization: ResourceId
    name: str = "organization.resume"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `deployment.suspend_organization`, as for suspending."""
        view.require_action(_ACTION, view.root)
        found = view.target(self.organization, "organization")
        left = {name: words for name, words in found.attributes.items() if name != SUSPENDED}
        return CommandEffect((AttributesSet(found.id, left),))
