"""`headgate api`: any path of the HTTP API from a shell."""

import sys
from typing import Annotated, Any

import httpx
import typer

from headgate.cli.client import CALL_TIMEOUT, configured_url, problem_of, reason_header, require_token
from headgate.cli.finite_numbers import parse_json
from headgate.cli.options import DryRun, Reason
from headgate.cli.output import fail, write_json, write_text

_BODILESS = ("GET", "DELETE")
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("api", epilog="Example: headgate api GET /api/v1/users")(api)


def api(
    method: Annotated[str, typer.Argument(help="the HTTP method: GET, POST, PUT, PATCH or DELETE")],
    path: Annotated[
        str,
        typer.Argument(help="the path, for example `/api/v1/users`; `headgate api GET /api/openapi.json` lists them"),
    ],
    fields: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=TEXT|NAME:=JSON]...", help="fields of the body, or of the query for GET and DELETE"
        ),
    ] = None,
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    organization: Annotated[str, typer.Option(help="the organization; required if you are in several")] = "",
) -> None:
    """Call any path of the HTTP API. The exit code is 1 if the call fails."""
    verb = _method(method)
    given, bodiless = _fields(fields or []), verb in _BODILESS
    query = {**(given if bodiless else {}), **({"dry_run": "true"} if dry_run else {})}
    headers = {"authorization": f"Bearer {require_token()}", **reason_header(reason)}
    prefix = f"/o/{organization}" if organization else ""
    # Merged: `params` would replace the query of the path, and with it a filter or `dry_run`.
    url = httpx.URL(f"{configured_url()}{prefix}/{path.removeprefix('/')}").copy_merge_params(query)
    answer = httpx.request(
        verb,
        url,
        json=None if bodiless else given,
        headers=headers,
        timeout=CALL_TIMEOUT,
    )
    if answer.is_error:
        fail(problem_of(answer))
        sys.exit(1)
    if answer.content:
        _show(answer)


def _show(answer: httpx.Response) -> None:
    """Print the body of a response: JSON indented, any other text unchanged."""
    try:
        content = answer.json()
    except ValueError:
        write_text(f"{answer.text}\n")
    else:
        write_json(content, indent=2)


def _method(written: str) -> str:
    """Return the HTTP method in upper case; end with exit code 2 for any other word."""
    if written.upper() not in _METHODS:
        fail(f"`{written}` is not an HTTP method; write one of {', '.join(_METHODS)}")
        sys.exit(2)
    return written.upper()


def _fields(written: list[str]) -> dict[str, Any]:
    """Return the values of fields written as `name=text` or `name:=json`; end with exit code 2 for any other form."""
    found: dict[str, Any] = {}
    for each in written:
        name, sign, value = each.partition("=")
        if not sign or not name.strip(":"):
            fail(f"`{each}` is not a field; write `name=text`, or `name:=json`")
            sys.exit(2)
        try:
            found[name.removesuffix(":")] = parse_json(value) if name.endswith(":") else value
        except ValueError:
            fail(f"`{value}` after `{name}=` is not JSON; write valid JSON, or `{name.removesuffix(':')}=` for a text")
            sys.exit(2)
    return found
