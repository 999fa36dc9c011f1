"""What commands would lead to, whoever gave them."""

from collections.abc import Sequence

from headgate.control.command import Command, View
from headgate.control.several import Several
from headgate.decision.answers import Answers
from headgate.decision.consequences import Consequences
from headgate.decision.what_if import what_if


def foreseen(answers: Answers, commands: Sequence[Command], now: float) -> Consequences:
    """Return what would differ after these commands, as the deployment itself could give them at this time.

    Raises a `CommandError` for what could not be done by anybody.
    """
    plan = Several(tuple(commands), "what_if").plan(View(answers, None, now))
    return what_if(answers, plan.changes, now)
