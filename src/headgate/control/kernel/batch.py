"""Atomic batches: several commands are written at one revision, all or none."""

from dataclasses import dataclass
from itertools import chain

from headgate.control.kernel.command import Command, CommandContext, CommandEffect
from headgate.control.kernel.errors import InvalidError


@dataclass(frozen=True, slots=True)
class Batch:
    """Commands in the order in which they are decided, each on the facts after those before it."""

    commands: tuple[Command, ...]
    name: str

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require the privileges of each command."""
        if not self.commands:
            raise InvalidError("the request changes nothing; include at least one change")
        plans: list[CommandEffect] = []
        for each in self.commands:
            plans.append(each.decide(view))
            view = view.with_changes(*plans[-1].changes)
        return CommandEffect(
            tuple(chain.from_iterable(each.changes for each in plans)),
            tuple(chain.from_iterable(each.documents for each in plans)),
            tuple(chain.from_iterable(each.pointers for each in plans)),
            runs=tuple(chain.from_iterable(each.runs for each in plans)),
        )
