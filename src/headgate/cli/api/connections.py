"""`headgate connection`: folders, databases and HTTP APIs of pipelines. Secrets come from files, never arguments."""

from pathlib import Path
from typing import Annotated, Any

import typer

from headgate.cli.client import ApiError, api_path, every, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.completion import complete_connection
from headgate.cli.errors import describe_unreadable
from headgate.cli.options import DryRun, NewName, OutputMode, Reason
from headgate.cli.output import print_item, print_items
from headgate.cli.writes import WriteOptions, write

_DEFAULT_PORT = 5432

ConnectionName = Annotated[
    str, typer.Argument(metavar="CONNECTION", autocompletion=complete_connection, help="the connection, by name or id")
]
PasswordFile = Annotated[
    Path | None,
    typer.Option("--password-file", metavar="FILE", help="a file with the password; `-` reads it from stdin"),
]
HeaderFile = Annotated[
    Path | None,
    typer.Option("--header-file", metavar="FILE", help="a file with one HTTP header in each line: `Name: value`"),
]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    connections = add_command_group(app, "connection", "Folders, databases and HTTP APIs that pipelines can use.")
    connections.command("list", epilog="Example: headgate connection list")(list_connections)
    connections.command(
        "create",
        epilog="Example: headgate connection create shop --postgresql db.example.org/shop --user headgate --password-file password",
    )(create_connection)
    connections.command("show", epilog="Example: headgate connection show shop")(show_connection)
    connections.command("set-secret", epilog="Example: headgate connection set-secret shop --password-file password")(
        set_secret
    )
    connections.command("delete", epilog="Example: headgate connection delete shop")(delete_connection)


def list_connections(*, output: OutputMode = "table") -> None:
    """Show the connections that you may see."""
    print_items(every("/connections"), {"name": "name"}, output)


def create_connection(
    name: NewName,
    folder: Annotated[Path | None, typer.Argument(metavar="[FOLDER]", help="a folder on the server's machine")] = None,
    postgresql: Annotated[
        str | None,
        typer.Option("--postgresql", metavar="ADDRESS", help="the address of a PostgreSQL database: HOST:PORT/NAME"),
    ] = None,
    user: Annotated[str | None, typer.Option("--user", metavar="NAME", help="the user of the database")] = None,
    password_file: PasswordFile = None,
    sslmode: Annotated[
        str,
        typer.Option("--sslmode", metavar="MODE", help="the TLS mode of the database connection: `sslmode` of libpq"),
    ] = "prefer",
    http: Annotated[str | None, typer.Option("--http", metavar="URL", help="the base URL of an HTTP API")] = None,
    header_file: HeaderFile = None,
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Create a connection to a folder, a database or an HTTP API."""
    if [folder, postgresql, http].count(None) != 2:  # noqa: PLR2004 (one of the three is given)
        raise ApiError("pass exactly one of a folder, `--postgresql` and `--http`")
    body: dict[str, Any] = {"name": name}
    if folder is not None:
        body["folder"] = _absolute(folder)
    if postgresql is not None:
        if user is None:
            raise ApiError("the user of the database is missing; pass it with `--user`")
        password = "" if password_file is None else _line(password_file)
        body["postgresql"] = {**_database(postgresql), "user": user, "password": password, "sslmode": sslmode}
    if http is not None:
        body["http"] = {"base_url": http, "headers": {} if header_file is None else _headers(header_file)}
    write(WriteOptions(dry_run, reason, output), "POST", "/connections", f"connection {name} is created", body=body)


def show_connection(connection: ConnectionName, *, output: OutputMode = "table") -> None:
    """Show a connection, without its secret."""
    found = send_request("GET", api_path("connections", connection))
    print_item(found, {key: value for key, value in found.items() if key not in ("revision", "version")}, output)


def set_secret(
    connection: ConnectionName,
    password_file: PasswordFile = None,
    header_file: HeaderFile = None,
    *,
    dry_run: DryRun = False,
    reason: Reason = "",
    output: OutputMode = "table",
) -> None:
    """Replace the secret of a connection. It is a database password, or the headers of an HTTP API."""
    body: dict[str, Any] = {}
    if password_file is not None:
        body["password"] = _line(password_file)
    if header_file is not None:
        body["headers"] = _headers(header_file)
    path = api_path("connections", connection, "secret")
    write(WriteOptions(dry_run, reason, output), "PUT", path, f"connection {connection} has a new secret", body=body)


def delete_connection(
    connection: ConnectionName, *, dry_run: DryRun = False, reason: Reason = "", output: OutputMode = "table"
) -> None:
    """Delete a connection."""
    path = api_path("connections", connection)
    write(WriteOptions(dry_run, reason, output), "DELETE", path, f"connection {connection} is deleted")


def _absolute(folder: Path) -> str:
    if not folder.is_absolute():
        raise ApiError(f"`{folder}` is a relative path; pass the absolute path of a folder on the server's machine")
    return str(folder)


def _database(text: str) -> dict[str, Any]:
    where, slash, name = text.partition("/")
    host, colon, port = where.rpartition(":")
    if not colon or where.endswith("]"):
        host, port = where, str(_DEFAULT_PORT)
    if not slash or not port.isdecimal():
        raise ApiError(f"`{text}` is not the address of a database; write HOST:PORT/NAME")
    return {"host": host.removeprefix("[").removesuffix("]"), "port": int(port), "database": name}


def _headers(file: Path) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in filter(str.strip, _text(file).splitlines()):
        name, colon, value = line.partition(":")
        if not colon:
            raise ApiError(f"a line of `{file}` is not an HTTP header; write each line as `Name: value`")
        headers[name.strip()] = value.strip()
    return headers


def _line(file: Path) -> str:
    return _text(file).removesuffix("\n").removesuffix("\r")


def _text(file: Path) -> str:
    try:
        return typer.get_text_stream("stdin").read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ApiError(describe_unreadable(file, error)) from None
