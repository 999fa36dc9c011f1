"""Reports of the progress and of the results."""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from tools.bypass_corpus.verdicts import Attempt, Judged, Verdict

_LONGEST = 200
"""The longest part of a message that is shown, in characters."""


def progress(total: int, *, verbose: bool) -> Callable[[int, Judged], None]:
    """Return a function that prints the progress: a changing line on a terminal, or else a line every 25 cases."""

    def watch(number: int, judged: Judged) -> None:
        if verbose:
            print(f"{number}/{total} {judged.case.id}: {judged.verdict.value}", flush=True)
            for attempt in judged.attempts:
                print(f"    {_attempt(attempt)}", flush=True)
        elif sys.stderr.isatty():
            end = "\n" if number == total else ""
            print(f"\rcase {number} of {total}: {judged.case.id:<12}", end=end, file=sys.stderr, flush=True)
        elif number % 25 == 0 or number == total:
            print(f"case {number} of {total}", file=sys.stderr, flush=True)

    return watch


def closing(judged: Sequence[Judged]) -> list[str]:
    """Return the last lines of the output; the very last one has the counts."""
    lines: list[str] = []
    for verdict in (Verdict.LET_THROUGH, Verdict.OVER_REFUSED):
        lines += _table(verdict, [each for each in judged if each.verdict is verdict])
    rejected = [each.case.id for each in judged if each.is_rejected]
    if rejected:
        lines += ["", f"rejected by the client or by Spark's parser: {', '.join(rejected)}"]
    count = Counter(each.verdict for each in judged)
    lines += ["", ", ".join(f"{count[verdict]} {verdict.value}" for verdict in reversed(Verdict))]
    return lines


def _table(verdict: Verdict, judged: Iterable[Judged]) -> list[str]:
    lines = [f"  {each.case.id:<12} {_attempt(each.decisive) if each.decisive else 'not attempted'}" for each in judged]
    return ["", f"{verdict.value}:", *lines] if lines else []


def _attempt(attempt: Attempt) -> str:
    said = (attempt.as_another, *attempt.effects, " ".join(attempt.message.split())[:_LONGEST])
    return "; ".join((f"with {attempt.asker}: {attempt.ending.value}", *(part for part in said if part)))
