"""Renaming and ending an organization, in its own log."""

from dataclasses import dataclass

from headgate.control.identity.tokens import token_erasures
from headgate.control.kernel.command import CommandContext, CommandEffect, require_new_name
from headgate.control.kernel.ports import DocumentPut
from headgate.facts.changes import PrincipalRemoved


@dataclass(frozen=True, slots=True)
class RenameOrganization:
    """Rename the organization. This entry records the actor; the name itself is in the deployment's log."""

    title: str
    name: str = "organization.rename"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require to edit it, or the nearest action that the model has: to change settings or manage users."""
        root = view.target(view.root)
        view.require_operation(self.name, {"organization": root})
        require_new_name(self.title)
        return CommandEffect(())


@dataclass(frozen=True, slots=True)
class EndOrganization:
    """End the organization: remove every principal, with tokens, assignments and names. Its log stays."""

    name: str = "organization.end"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `organization.delete`."""
        view.require_action("organization.delete", view.root)
        people = sorted(view.facts.principals)
        names = (DocumentPut("principal", id, None) for id in people)
        tokens = (each for id in sorted(view.facts.tokens) for each in token_erasures(id))
        return CommandEffect(tuple(map(PrincipalRemoved, people)), (*names, *tokens))
