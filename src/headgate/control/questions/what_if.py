"""Analysis of hypothetical commands (what-if): the changes that a list of commands would make, independent of the caller."""

from collections.abc import Sequence

from headgate.control.kernel.batch import Batch
from headgate.control.kernel.command import Command, CommandContext
from headgate.decision.diff.results import Impact
from headgate.decision.diff.what_if import analyze_changes
from headgate.decision.evaluator import Answers


def impact_of_commands(answers: Answers, commands: Sequence[Command], now: float) -> Impact:
    """Return the differences after these commands, executed by the deployment itself at this time.

    Raises a `CommandError` for a command that is invalid for every caller.
    """
    plan = Batch(tuple(commands), "what_if").decide(CommandContext(answers, None, now))
    return analyze_changes(answers, plan.changes, now)
