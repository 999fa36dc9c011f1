"""A story in steps: each step prints the person, the action, the expected result and the actual result."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from headgate.cli.output import console, say

DONE: Final = "done"
REFUSED: Final = "refused"


class RefusedError(Exception):
    """An endpoint has refused a request; the message is the endpoint's."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a step: `done`, `refused`, or the state of a run; with the message of the endpoint or run."""

    state: str
    words: str = ""


class Story:
    """Prints each step as it ends, and counts those that ended as expected."""

    def __init__(self) -> None:
        self.expected = 0
        self.unexpected = 0

    def chapter(self, title: str) -> None:
        """Print the title of a chapter."""
        say(f"\n{title}\n")

    def step(self, who: str, what: str, act: Callable[[], Outcome | str | None], expects: str = DONE) -> None:
        """Run a step and print its result.

        `expects` is a state, or a state and a part of the message: `refused: run-as`.
        """
        with console.status(f"{who} {what}"):
            outcome = _outcome(act)
        state, _, words = expects.partition(": ")
        as_expected = outcome.state == state and words in outcome.words
        self.expected += as_expected
        self.unexpected += not as_expected
        mark = "  ok " if as_expected else "NOT OK"
        say(f"{mark:<7}{who:<6}{what}\n{'':13}expected {expects}; {outcome.state}{_said(outcome.words)}")

    def missing(self, what: str, why: str) -> None:
        """Print that steps are left out because the machine lacks something."""
        say(f"  --   {what}: left out, {why}")

    def close(self) -> int:
        """Print the last line and return the exit code."""
        say(f"\n{self.expected} as expected, {self.unexpected} unexpected")
        return 1 if self.unexpected else 0


def _outcome(act: Callable[[], Outcome | str | None]) -> Outcome:
    try:
        result = act()
    except RefusedError as error:
        return Outcome(REFUSED, " ".join(str(error).split()))
    except Exception as error:  # noqa: BLE001 (any error is an unexpected result of the step)
        return Outcome("broke", f"{type(error).__name__}: {' '.join(str(error).split())}")
    return result if isinstance(result, Outcome) else Outcome(DONE, result or "")


def _said(words: str) -> str:
    longest = 240
    return f": {words if len(words) <= longest else words[:longest] + ' ...'}" if words else ""
