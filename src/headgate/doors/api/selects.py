"""The SELECT of a definition, given to Spark as the caller: what it reads, and its rows."""

from collections.abc import Iterator
from typing import Any

from headgate.control.command import InvalidError
from headgate.control.error_text import REFUSED, mask
from headgate.control.wording import asked
from headgate.doors.services import Services
from headgate.pipelines.charting import MOST_ROWS, Rows, as_json
from headgate.pipelines.selecting import InputsError, SelectingDefinition, parameters, reads, require_same, wrapped
from headgate.spark.statements import StatementError, Wanted

_SECONDS = 60.0
_BYTES = 64 * 1024**2
_MISTAKES = ("42", "54")
"""The classes of SQLSTATEs of mistakes in the text, and of a text that is too large or too deep."""
_FAILED = "Error occurred during query planning:"
"""How EXPLAIN begins to say that there is no plan."""


def require_inputs(services: Services, token: str, definition: Any) -> None:
    """Raise `InvalidError` for a definition whose SELECT Spark cannot read, or that does not declare what it reads.

    What the caller may not read, and everything while there is no Spark, is left to the runs: they are held to it.
    What is refused to everybody is not.
    """
    if not isinstance(definition, SelectingDefinition) or not services.deployed.has_spark(services.organization):
        return
    try:
        answer = _answer(services, token, f"EXPLAIN EXTENDED {wrapped(definition.sql)}")
    except StatementError as error:
        if _is_of_the_text(error):
            raise InvalidError(f"Spark cannot read the SELECT: {error}") from None
        return
    explained = "\n".join(str(line) for line, *_ in answer.rows)
    if explained.startswith(_FAILED):
        raise InvalidError(f"Spark cannot read the SELECT: {mask(explained.removeprefix(_FAILED).strip())}")
    try:
        require_same(definition.inputs, reads(explained))
    except InputsError as error:
        raise InvalidError(str(error)) from None


def _is_of_the_text(error: StatementError) -> bool:
    """Say whether another text is the only remedy. A refusal that a right would lift says where to ask for it."""
    if error.sqlstate == REFUSED:
        return asked(str(error))[1] is None
    return (error.sqlstate or "").startswith(_MISTAKES)


def rows_for(services: Services, token: str, definition: SelectingDefinition) -> Rows:
    """Return the first rows of a definition's SELECT, with the rights of whoever asks. Raises `StatementError`."""
    return _answer(services, token, wrapped(definition.sql))


def _answer(services: Services, token: str, text: str) -> Rows:
    reading = services.statements.begin(token, Wanted(text, parameters(None), MOST_ROWS, _BYTES, _SECONDS))
    try:
        columns, _ = reading.open()
        rows = [as_json(row) for batch in reading.batches() for row in _of(batch)]
        return Rows(columns=tuple((each.name, each.type) for each in columns), rows=tuple(rows), cut=reading.more)
    finally:
        reading.close()


def _of(batch: Any) -> Iterator[tuple[Any, ...]]:
    # Column by column: two of them may have one name.
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)
