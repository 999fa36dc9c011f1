"""What commands would lead to, whoever gave them."""

from collections.abc import Sequence

from headgate.control.kernel.command import Command, View
from headgate.control.kernel.several import Several
from headgate.decision.diff.results import Consequences
from headgate.decision.diff.what_if import what_if
from headgate.decision.evaluator import Answers


def foreseen(answers: Answers, commands: Sequence[Command], now: float) -> Consequences:
    """Return what would differ after these commands, as the deployment itself could give them at this time.

    Raises a `CommandError` for what could not be done by anybody.
    """
    plan = Several(tuple(commands), "what_if").plan(View(answers, None, now))
    return what_if(answers, plan.changes, now)
