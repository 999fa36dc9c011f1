"""What becomes of an organization after it was begun: another name, and its end."""

from dataclasses import dataclass

from headgate.control.identity.tokens import token_erasures
from headgate.control.kernel.command import CommandContext, CommandEffect, require_new_name
from headgate.control.kernel.ports import DocumentPut
from headgate.facts.changes import PrincipalRemoved


@dataclass(frozen=True, slots=True)
class RenameOrganization:
    """The organization is called otherwise. This tells who did it; the name itself stands in the deployment's log."""

    title: str
    name: str = "organization.rename"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need to edit it, or whatever the model has that is nearest to that."""
        root = view.target(view.root)
        view.require_action(view.action(root, "edit", "change_settings", "manage_users"), root.id)
        require_new_name(self.title)
        return CommandEffect(())


@dataclass(frozen=True, slots=True)
class EndOrganization:
    """Nobody is in the organization any more: every principal goes, with tokens, assignments and names. Its log stays."""

    name: str = "organization.end"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need `organization.delete`."""
        view.require_action("organization.delete", view.root)
        people = sorted(view.facts.principals)
        names = (DocumentPut("principal", id, None) for id in people)
        tokens = (each for id in sorted(view.facts.tokens) for each in token_erasures(id))
        return CommandEffect(tuple(map(PrincipalRemoved, people)), (*names, *tokens))
