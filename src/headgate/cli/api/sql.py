"""`headgate sql`: run a SQL statement as the caller, show its progress, and print its rows in a chosen format."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

import httpx
import typer

from headgate.cli.client import ApiError, api_path, configured_url, problem_of, require_token, send_delete, send_request
from headgate.cli.finite_numbers import parse_json
from headgate.cli.output import build_progress, errors, note, print_table, say, write_csv, write_json

_WAIT = 0.5
"""Seconds that one request waits for the statement; between two requests the progress is shown."""
_PAGE = 10_000
_ARROW = "application/vnd.apache.arrow.stream"

RowFormat = Literal["table", "json", "csv", "arrow"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("sql", epilog='Example: headgate sql "SELECT count(*) FROM lake.raw.flights" --output json')(sql)


def sql(
    statement: Annotated[str, typer.Argument(help="one SQL statement")],
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", help="the most rows to show; 100 for a table, else 1000")
    ] = None,
    output: Annotated[
        RowFormat,
        typer.Option(
            "--output",
            "-o",
            help="the format of the rows; `json` is one object for each row, `arrow` is an Arrow stream",
        ),
    ] = "table",
    param: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="the value of `:NAME` in the statement, as JSON or text; can be repeated"
        ),
    ] = None,
    output_file: Annotated[
        Path | None,
        typer.Option("--output-file", metavar="FILE", help="the file to write; for `--output arrow` only"),
    ] = None,
) -> None:
    """Run a SQL statement on Spark with your privileges. Ctrl-C cancels it."""
    body: dict[str, Any] = {"statement": statement, "parameters": dict(map(_parameter, param or ())) or None}
    if output == "arrow":
        _stream({**body, "limit": limit}, output_file)
        return
    if output_file is not None:
        raise ApiError("`--output-file` is for `--output arrow`; add this option, or redirect the output to the file")
    limit = limit or (100 if output == "table" else 1000)
    answer = _ended(send_request("POST", "/sql", body={**body, "limit": limit, "wait_seconds": _WAIT}))
    names = [each["name"] for each in answer["columns"]]
    if names:
        {"table": _table, "json": _json, "csv": _csv}[output](names, _rows(answer))
    if answer["more"]:
        note(f"(the first {limit} rows; there are more, and `--limit` shows more)")


def _ended(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the statement after it has ended; until then, show its progress. Ctrl-C cancels the statement."""
    if answer["state"] == "running":
        path = f"/sql{api_path(answer['id'])}"
        try:
            with errors.status("waiting for Spark") as status:
                while answer["state"] == "running":
                    status.update(build_progress(_progress(answer["progress"])))
                    answer = send_request("GET", path, rows=_PAGE, wait_seconds=_WAIT)
        except KeyboardInterrupt:
            send_delete(path)
            raise
    if answer["problem"]:
        raise ApiError(answer["problem"]["detail"])
    return answer


def _progress(found: dict[str, int]) -> str:
    done = f"{found['tasks_done']} of {found['tasks']} tasks" if found["tasks"] else "waiting for Spark"
    return f"{done}, {found['bytes'] / 1e6:,.1f} MB read" if found["bytes"] else done


def _rows(answer: dict[str, Any]) -> Iterator[list[Any]]:
    """Yield all rows, part after part; after the last part, delete the result that the server keeps."""
    yield from answer["rows"]
    if answer["id"] is None:
        return
    path = f"/sql{api_path(answer['id'])}"
    while answer["next"] is not None:
        answer = send_request("GET", path, start=answer["next"], rows=_PAGE)
        yield from answer["rows"]
    send_delete(path)


def _table(names: Sequence[str], rows: Iterator[list[Any]]) -> None:
    print_table(names, list(rows))


def _json(names: Sequence[str], rows: Iterator[list[Any]]) -> None:
    for row in rows:
        write_json(dict(zip(names, row, strict=True)))


def _csv(names: Sequence[str], rows: Iterator[list[Any]]) -> None:
    write_csv(chain([names], rows))


def _stream(body: dict[str, Any], output: Path | None) -> None:
    if output is None:
        raise ApiError("`--output arrow` writes a file; name the file with `--output-file`")
    headers = {"authorization": f"Bearer {require_token()}", "accept": _ARROW}
    with httpx.stream("POST", f"{configured_url()}/api/v1/sql", json=body, headers=headers, timeout=None) as answer:  # noqa: S113
        if answer.is_error:
            answer.read()
            raise ApiError(problem_of(answer))
        with output.open("wb") as file:
            for piece in answer.iter_bytes():
                file.write(piece)
    say(f"{output} ({output.stat().st_size} bytes)")


def _parameter(text: str) -> tuple[str, Any]:
    name, found, value = text.partition("=")
    if not (name and found):
        raise ApiError(f"`{text}` is not a parameter; write `NAME=VALUE`")
    try:
        read = parse_json(value)
    except ValueError:
        return name, value
    return name, value if isinstance(read, (dict, list)) else read
