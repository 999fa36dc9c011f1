"""The SELECT of a definition, executed on Spark as the caller: a check of the tables that it reads, and its rows."""

from collections.abc import Iterator
from typing import Any

from headgate.control.kernel.errors import InvalidError
from headgate.control.questions.messages import split_request_link
from headgate.control.text.error_text import REFUSED_STATE, mask
from headgate.endpoints.common.problems import ProblemError, inconvertible_value
from headgate.facts.caller import Caller
from headgate.pipelines.definitions.chart import MOST_BYTES, MOST_ROWS, ChartRows, as_json
from headgate.pipelines.definitions.select import (
    InputsError,
    SelectingDefinition,
    parameter_values,
    reads,
    require_same,
    wrap_query,
)
from headgate.pipelines.json_size import RowSizeError, batches_within
from headgate.spark.authority import PresentedCredential
from headgate.spark.sql.statement_store import StatementStore
from headgate.spark.sql.statements import TOO_MANY, StatementError, StatementRequest

_SECONDS = 60.0
_BYTES = 64 * 1024**2
_MISTAKES = ("42", "54")
"""SQLSTATE classes of errors in the text of a statement, and of a text that is too long or nested too deeply."""
_FAILED = "Error occurred during query planning:"
"""The begin of the output of EXPLAIN if Spark could not plan the statement."""


def require_inputs(
    statements: StatementStore, credential: PresentedCredential, caller: Caller, definition: Any
) -> None:
    """Raise `InvalidError` if Spark cannot analyze the SELECT of a definition, or if its `inputs` differ from what it reads.

    Nothing is raised for a table that the caller may not read, or while Spark does not respond: the runs are checked then.
    A statement that is refused to every caller does raise.
    """
    if not isinstance(definition, SelectingDefinition):
        return
    try:
        answer = _answer(statements, credential, caller, f"EXPLAIN EXTENDED {wrap_query(definition.sql)}", _BYTES)
    except StatementError as error:
        if error.condition == TOO_MANY:
            raise
        if _is_of_the_text(error):
            raise InvalidError(f"Spark cannot analyze the SELECT of the definition: {error}") from None
        return
    explained = "\n".join(str(line) for line, *_ in answer.rows)
    if explained.startswith(_FAILED):
        fault = mask(explained.removeprefix(_FAILED).strip())
        raise InvalidError(f"Spark cannot analyze the SELECT of the definition: {fault}")
    try:
        require_same(definition.inputs, reads(explained))
    except InputsError as error:
        raise InvalidError(str(error)) from None


def _is_of_the_text(error: StatementError) -> bool:
    """Return whether only a change of the statement's text can fix an error.

    A refusal that a privilege would lift has a link to request access, so it is not such an error.
    """
    if error.sqlstate == REFUSED_STATE:
        return split_request_link(str(error))[1] is None
    return (error.sqlstate or "").startswith(_MISTAKES)


def rows_for(
    statements: StatementStore, credential: PresentedCredential, caller: Caller, definition: SelectingDefinition
) -> ChartRows:
    """Return the first rows of a definition's SELECT, executed with the caller's privileges.

    Raises:
        StatementError: Spark or the guard did not run the SELECT.
        ProblemError: the first row is too large.
    """
    return _answer(statements, credential, caller, wrap_query(definition.sql), MOST_BYTES)


def _answer(
    statements: StatementStore, credential: PresentedCredential, caller: Caller, text: str, size: int
) -> ChartRows:
    wanted = StatementRequest(text, parameter_values(None), MOST_ROWS, _BYTES, _SECONDS)
    reading = statements.begin(credential, caller.principal, wanted)
    try:
        columns, _ = reading.open()
        batches, is_cut = batches_within(reading.batches(), size)
        rows = tuple(as_json(row) for batch in batches for row in _of(batch))
        return ChartRows(
            columns=tuple((each.name, each.type) for each in columns), rows=rows, cut=is_cut or reading.more
        )
    except RowSizeError as error:
        raise ProblemError(413, "too-large", str(error)) from None
    except (OverflowError, ValueError) as error:
        raise inconvertible_value(error) from None
    finally:
        reading.close()


def _of(batch: Any) -> Iterator[tuple[Any, ...]]:
    # By position: two columns may have the same name.
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)
