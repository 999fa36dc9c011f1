"""Several commands as one: all of them are written, at one revision, or none."""

from dataclasses import dataclass
from itertools import chain

from headgate.control.kernel.command import Command, CommandContext, CommandEffect
from headgate.control.kernel.errors import InvalidError


@dataclass(frozen=True, slots=True)
class Batch:
    """Commands that are carried out in this order, each decided on what those before it leave."""

    commands: tuple[Command, ...]
    name: str

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need what each of them needs."""
        if not self.commands:
            raise InvalidError("nothing is to be different; say what is")
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
