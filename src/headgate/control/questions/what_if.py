"""What commands would lead to, whoever gave them."""

from collections.abc import Sequence

from headgate.control.kernel.batch import Batch
from headgate.control.kernel.command import Command, CommandContext
from headgate.decision.diff.results import Impact
from headgate.decision.diff.what_if import analyze_changes
from headgate.decision.evaluator import Answers


def impact_of_commands(answers: Answers, commands: Sequence[Command], now: float) -> Impact:
    """Return what would differ after these commands, as the deployment itself could give them at this time.

    Raises a `CommandError` for what could not be done by anybody.
    """
    plan = Batch(tuple(commands), "what_if").decide(CommandContext(answers, None, now))
    return analyze_changes(answers, plan.changes, now)
