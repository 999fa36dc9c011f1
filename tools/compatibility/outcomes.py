"""The outcome of one statement or example on one side: rows, a text, an error or a timeout, in a form that can be compared."""

import contextlib
import hashlib
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from typing_extensions import override

from headgate.control.text.error_text import REFUSED_STATE
from tools.compatibility.masks import mask

SHOWN: Final = 40
"""The number of rows that an outcome keeps, beside the hash of all rows."""
LONGEST_ROW: Final = 2000
_LONGEST_TEXT: Final = 4000
_LONGEST_MESSAGE: Final = 1500


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one statement or example: `kind` is `rows`, `text`, `error`, `timeout` or `skipped`."""

    kind: str
    ms: int = 0
    schema: str = ""
    count: int = 0
    digest: str = ""
    rows: tuple[str, ...] = ()
    text: str = ""
    as_documented: bool = False
    """Whether an example printed what its documentation shows."""
    type: str = ""
    condition: str = ""
    state: str = ""
    message: str = ""

    @property
    def is_refusal(self) -> bool:
        """Whether the guard or the gateway refused it."""
        return self.state == REFUSED_STATE


@dataclass(frozen=True, slots=True)
class Result:
    """A statement or example with its outcome; `part` is `setting`, `statement` or `example`."""

    statement: str
    part: str
    outcome: Outcome
    document: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON without default values, for `result_from_json`."""
        document = asdict(self)
        outcome = {name: value for name, value in document["outcome"].items() if value or name == "kind"}
        return {**document, "outcome": outcome}


def result_from_json(value: dict[str, Any]) -> Result:
    """Return the result of `Result.to_json` after a round trip through JSON."""
    outcome = {**value["outcome"], "rows": tuple(value["outcome"].get("rows", ()))}
    return Result(value["statement"], value["part"], Outcome(**outcome), value["document"])


class TimeLimitError(BaseException):
    """The time limit of a statement is over. Not an `Exception`, which the client would catch to try again."""

    @override
    def __str__(self) -> str:
        return "the statement took too long"


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeLimitError` in the main thread after `seconds`."""

    def interrupt(*_: object) -> None:
        raise TimeLimitError

    before = signal.signal(signal.SIGALRM, interrupt)
    # The alarm repeats, because an error that is raised in a destructor is lost.
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def measure(run: Callable[[], Outcome], seconds: float) -> Outcome:
    """Run something with a time limit, and return its outcome with the time that it took."""
    began = time.monotonic()
    try:
        with time_limit(seconds):
            found = run()
    except TimeLimitError:
        found = Outcome("timeout")
    except Exception as error:  # noqa: BLE001 (any error is an outcome)
        found = describe_error(error)
    return replace(found, ms=round((time.monotonic() - began) * 1000))


def rows_of(frame: Any) -> Outcome:
    """Return the rows of a DataFrame, sorted, and its schema."""
    ordered = sorted(mask(repr(tuple(row))) for row in frame.collect())
    digest = hashlib.sha256("\n".join(ordered).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    kept = tuple(each[:LONGEST_ROW] for each in ordered[:SHOWN])
    return Outcome("rows", schema=mask(frame.schema.simpleString()), count=len(ordered), digest=digest, rows=kept)


def text_of(printed: str, *, as_documented: bool) -> Outcome:
    """Return the outcome of an example that printed a text."""
    return Outcome("text", text=mask(printed)[:_LONGEST_TEXT], as_documented=as_documented)


def describe_error(error: Exception) -> Outcome:
    """Return the outcome of something that raised an error."""
    return Outcome(
        "error",
        type=type(error).__name__,
        condition=_attribute(error, "getCondition"),
        state=_attribute(error, "getSqlState"),
        message=mask(str(error))[:_LONGEST_MESSAGE],
    )


def _attribute(error: Exception, name: str) -> str:
    with contextlib.suppress(Exception):
        return str(getattr(error, name)() or "")
    return ""
