"""Several commands as one: all of them are written, at one revision, or none."""

from dataclasses import dataclass
from itertools import chain

from headgate.control.kernel.command import Command, Plan, View
from headgate.control.kernel.errors import InvalidError


@dataclass(frozen=True, slots=True)
class Several:
    """Commands that are carried out in this order, each decided on what those before it leave."""

    commands: tuple[Command, ...]
    name: str

    def plan(self, view: View) -> Plan:
        """Need what each of them needs."""
        if not self.commands:
            raise InvalidError("nothing is to be different; say what is")
        plans: list[Plan] = []
        for each in self.commands:
            plans.append(each.plan(view))
            view = view.after(*plans[-1].changes)
        return Plan(
            tuple(chain.from_iterable(each.changes for each in plans)),
            tuple(chain.from_iterable(each.documents for each in plans)),
            tuple(chain.from_iterable(each.pointers for each in plans)),
            runs=tuple(chain.from_iterable(each.runs for each in plans)),
        )
