"""`headgate status`: whether the deployment answers, and the caller's name and organization."""

from typing import Any

import httpx
import typer

from headgate.cli.client import ApiError, may_use_tls, problem_of, send_request, stored_credential
from headgate.cli.deployment_url import deployment_address
from headgate.cli.output import say
from headgate.spark.connect_address import connect_address


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("status", epilog="Example: headgate status")(status)


def status() -> None:
    """Show whether the API and Spark answer, and your login: name, organization and credential."""
    where = deployment_address()
    health = httpx.get(f"{where}/api/v1/health", verify=may_use_tls(where))
    if health.is_error:
        raise ApiError(problem_of(health))
    say(describe_health(health.json(), httpx.URL(where)))
    _, source = stored_credential()
    caller = send_request("GET", "/me")
    say(f"{where}, organization {caller['organization']['name']}, as {caller['name']} by {source}")


def describe_health(health: dict[str, Any], where: httpx.URL) -> str:
    """Return the state of the API and of Spark as text, with the address of Spark Connect if it is served."""
    port = health.get("spark_port")
    address = f" at {connect_address(where.host, port, tls=where.scheme == 'https')}" if port else ""
    return f"api {health['api']}, spark {health.get('spark', 'off')}{address}"
