"""`headgate connection`: folders, databases and HTTP APIs of pipelines. Secrets come from files, never arguments."""

from pathlib import Path
from typing import Annotated, Any

import typer

from headgate.cli.client import ApiError, api_path, every, send_request
from headgate.cli.command_groups import add_command_group
from headgate.cli.errors import describe_unreadable
from headgate.cli.output import note, print_table, say

_DEFAULT_PORT = 5432

Name = Annotated[str, typer.Argument(help="the name of the connection")]
PasswordFile = Annotated[Path | None, typer.Option(help="a file with the password; `-` reads it from stdin")]
HeaderFile = Annotated[Path | None, typer.Option(help="a file with one HTTP header in each line: `Name: value`")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    connections = add_command_group(app, "connection", "Folders, databases and HTTP APIs that pipelines can use.")
    connections.command("list")(list_connections)
    connections.command("create")(create_connection)
    connections.command("show")(show_connection)
    connections.command("set-secret")(set_secret)


def list_connections() -> None:
    """Show the connections that you may see."""
    print_table(("name",), [(each["name"],) for each in every("/connections")])


def create_connection(
    name: Name,
    folder: Annotated[Path | None, typer.Argument(help="a folder on the server's machine")] = None,
    postgresql: Annotated[str | None, typer.Option(help="the address of a PostgreSQL database: HOST:PORT/NAME")] = None,
    user: Annotated[str | None, typer.Option(help="the user of the database")] = None,
    password_file: PasswordFile = None,
    sslmode: Annotated[
        str, typer.Option(help="the TLS mode of the database connection: `sslmode` of libpq")
    ] = "prefer",
    http: Annotated[str | None, typer.Option(help="the base URL of an HTTP API")] = None,
    header_file: HeaderFile = None,
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
    answer = send_request("POST", "/connections", body=body)
    say(f"connection {name} (revision {answer['revision']})")
    if "warning" in answer:
        note(f"warning: {answer['warning']}")


def show_connection(name: Name) -> None:
    """Show a connection, without its secret."""
    found = send_request("GET", api_path("connections", name))
    print_table(("", ""), [(key, str(value)) for key, value in found.items() if key != "revision"])


def set_secret(name: Name, password_file: PasswordFile = None, header_file: HeaderFile = None) -> None:
    """Replace the secret of a connection. It is a database password, or the headers of an HTTP API."""
    body: dict[str, Any] = {}
    if password_file is not None:
        body["password"] = _line(password_file)
    if header_file is not None:
        body["headers"] = _headers(header_file)
    answer = send_request("PUT", api_path("connections", name, "secret"), body=body)
    say(f"connection {name} has a new secret (revision {answer['revision']})")


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
