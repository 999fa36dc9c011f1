"""Every route of the HTTP API has a command, or a reason for none; each write has the options of writes."""

from collections.abc import Mapping
from typing import Any

import pytest
import typer

from headgate.cli.every_command import app
from tests.app.deployment_harness import world_in

API = "/api/v1"
ROOT: Any = typer.main.get_command(app)

COMMANDS: Mapping[str, str] = {
    "GET /health": "status",
    "GET /me": "auth whoami",
    "GET /organization": "status",
    "GET /users": "user list",
    "POST /users": "user create",
    "GET /users/{user}": "user show",
    "DELETE /users/{user}": "user delete",
    "GET /service-principals": "service-principal list",
    "POST /service-principals": "service-principal create",
    "GET /service-principals/{service_principal}": "service-principal show",
    "PATCH /service-principals/{service_principal}": "service-principal change",
    "DELETE /service-principals/{service_principal}": "service-principal delete",
    "GET /groups": "group list",
    "POST /groups": "group create",
    "GET /groups/{group}": "group show",
    "PATCH /groups/{group}": "group rename",
    "DELETE /groups/{group}": "group delete",
    "GET /groups/{group}/members": "group list-members",
    "PUT /groups/{group}/members/{member}": "group add-member",
    "DELETE /groups/{group}/members/{member}": "group remove-member",
    "GET /domains": "team list",
    "POST /domains": "team create",
    "GET /teams": "team list",
    "POST /teams": "team create",
    "GET /teams/{team}": "team show",
    "PATCH /teams/{team}": "team rename",
    "DELETE /teams/{team}": "team delete",
    "GET /teams/{team}/members": "team list-members",
    "PUT /teams/{team}/members/{member}": "team add-member",
    "DELETE /teams/{team}/members/{member}": "team remove-member",
    "GET /roles": "role list",
    "PUT /roles/{role}": "role set",
    "DELETE /roles/{role}": "role delete",
    "GET /assignments": "assignment list",
    "POST /assignments": "assignment create",
    "PATCH /assignments": "assignment change",
    "DELETE /assignments": "assignment delete",
    "GET /tokens": "token list",
    "POST /tokens": "token create",
    "DELETE /tokens/{token}": "token revoke",
    "GET /settings": "setting list",
    "PUT /settings/{setting}": "setting set",
    "GET /projects": "project list",
    "POST /projects": "project create",
    "GET /projects/{project}": "project show",
    "PATCH /projects/{project}": "project rename",
    "DELETE /projects/{project}": "project delete",
    "GET /models": "model list",
    "GET /models/{model}": "model show",
    "GET /resources": "resource list",
    "POST /resources": "resource create",
    "GET /resources/{resource}": "resource show",
    "PATCH /resources/{resource}": "resource change",
    "DELETE /resources/{resource}": "resource delete",
    "GET /resources/{resource}/children": "resource list",
    "GET /resources/{resource}/description": "resource describe",
    "PUT /resources/{resource}/description": "resource describe",
    "GET /resources/{resource}/document": "resource document",
    "PUT /resources/{resource}/document": "resource document",
    "GET /resources/{resource}/who": "access list-principals",
    "GET /databases": "database list",
    "POST /databases": "database create",
    "GET /connections": "connection list",
    "POST /connections": "connection create",
    "GET /connections/{connection}": "connection show",
    "DELETE /connections/{connection}": "connection delete",
    "PUT /connections/{connection}/secret": "connection set-secret",
    "GET /pipelines": "pipeline list",
    "PUT /pipelines/{pipeline}": "pipeline save",
    "GET /pipelines/{pipeline}": "pipeline show",
    "DELETE /pipelines/{pipeline}": "pipeline delete",
    "POST /pipelines/{pipeline}/streams": "pipeline add-stream",
    "POST /pipelines/{pipeline}/streams/{stream}/enable": "pipeline enable-stream",
    "POST /pipelines/{pipeline}/streams/{stream}/disable": "pipeline disable-stream",
    "POST /pipelines/{pipeline}/activate": "pipeline activate",
    "POST /pipelines/{pipeline}/deactivate": "pipeline deactivate",
    "POST /pipelines/{pipeline}/pause": "pipeline pause",
    "POST /pipelines/{pipeline}/resume": "pipeline resume",
    "POST /pipelines/{pipeline}/clean-and-restart": "pipeline clean-and-restart",
    "POST /resources/{resource_name}/move-to-cluster": "pipeline move-to-cluster",
    "POST /pipelines/{pipeline}/runs": "pipeline run",
    "POST /pipelines/{pipeline}/backfill": "pipeline backfill",
    "GET /pipelines/{pipeline}/rows": "pipeline show-rows",
    "GET /runs": "run list",
    "GET /runs/{run}": "run show",
    "GET /runs/{run}/log": "run show-log",
    "POST /runs/{run}/retry": "run retry",
    "POST /runs/{run}/cancel": "run cancel",
    "GET /lineage": "lineage show",
    "GET /lineage/events": "lineage export",
    "GET /access": "agreement list",
    "POST /access": "agreement create",
    "POST /access/add": "agreement create",
    "GET /access/{access}": "agreement show",
    "PATCH /access/{access}": "agreement change",
    "DELETE /access/{access}": "agreement delete",
    "POST /access/{access}/approve": "agreement approve",
    "POST /access/{access}/reject": "agreement reject",
    "POST /access/{access}/terminate": "agreement terminate",
    "GET /change-requests": "change-request list",
    "POST /change-requests": "change-request create",
    "GET /change-requests/{request}": "change-request show",
    "POST /change-requests/{request}/approve": "change-request approve",
    "POST /change-requests/{request}/reject": "change-request reject",
    "GET /requests": "request list",
    "POST /requests": "request create",
    "GET /requests/{request}": "request show",
    "POST /requests/{request}/approve": "request approve",
    "POST /requests/{request}/reject": "request reject",
    "GET /notifications": "notification list",
    "POST /notifications/{notification}/dismiss": "notification dismiss",
    "POST /questions": "access check",
    "POST /questions/explain": "access explain",
    "POST /questions/who": "access list-principals",
    "POST /questions/which": "access list-resources",
    "POST /questions/what-if": "access what-if",
    "POST /sql": "sql",
    "GET /sql/{statement}": "sql",
    "DELETE /sql/{statement}": "sql",
    "GET /audit": "audit list",
    "GET /audit/decisions": "audit list-decisions",
    "POST /login": "auth login",
    "POST /logout": "auth logout",
    "GET /session": "session delete",
    "GET /sessions": "session list",
    "DELETE /sessions/{id}": "session delete",
    "POST /password": "auth change-password",
    "POST /invitations": "invitation create",
    "GET /invitations": "invitation list",
    "DELETE /invitations/{id}": "invitation revoke",
    "POST /invitations/{secret}/accept": "invitation accept",
}
"""The routes below `/api/v1`, each with the command that calls it."""

DOMAIN = "`headgate team` names domains, too: the route of teams does the same"
RESOURCE = "`headgate resource` does the same for every type"
OPERATOR = "`headgate organization` does the same on the machine of the deployment"
MODELS = "`headgate model` and `headgate organization set-model` do the same on the machine of the deployment"

REASONS: Mapping[str, str] = {
    "GET /domains/{team}": DOMAIN,
    "PATCH /domains/{team}": DOMAIN,
    "DELETE /domains/{team}": DOMAIN,
    "GET /domains/{team}/members": DOMAIN,
    "PUT /domains/{team}/members/{member}": DOMAIN,
    "DELETE /domains/{team}/members/{member}": DOMAIN,
    "GET /clusters": RESOURCE,
    "POST /clusters": RESOURCE,
    "GET /data-products": RESOURCE,
    "POST /data-products": RESOURCE,
    "GET /data-contracts": RESOURCE,
    "POST /data-contracts": RESOURCE,
    "GET /organizations": OPERATOR,
    "POST /organizations": OPERATOR,
    "PATCH /organization": "`headgate api PATCH /api/v1/organization name=...` renames an organization",
    "DELETE /organization": OPERATOR,
    "GET /deployment/organizations": OPERATOR,
    "POST /deployment/organizations/{organization}/suspend": OPERATOR,
    "POST /deployment/organizations/{organization}/resume": OPERATOR,
    "DELETE /deployment/organizations/{organization}": OPERATOR,
    "GET /deployment/models": MODELS,
    "POST /deployment/models": MODELS,
    "GET /deployment/models/{model}": MODELS,
    "DELETE /deployment/models/{model}": MODELS,
    "PUT /deployment/organizations/{organization}/model": MODELS,
    "POST /assignments/batch": "a shell makes one assignment after the other",
    "GET /pipelines/{pipeline}/chart.svg": "an image, for a browser",
    "GET /invitations/{secret}/accept": "what a page shows before it accepts an invitation",
    "POST /devices/{code}": "the page that confirms the code of `headgate auth login`",
}
"""The routes below `/api/v1` that no command calls, each with the reason."""


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the operations of the OpenAPI document by method and path."""
    with world_in(tmp_path_factory.mktemp("routes"), founding=False) as world:
        paths = world.http.get("/api/openapi.json").json()["paths"]
    return {
        f"{method.upper()} {path.removeprefix(API)}": operation
        for path, methods in paths.items()
        if path.startswith(f"{API}/")
        for method, operation in methods.items()
    }


def command(words: str) -> Any:
    found = ROOT
    for word in words.split():
        found = found.commands[word]
    return found


def options(words: str) -> set[str]:
    return {name for each in command(words).params for name in each.opts}


def test_every_route_has_a_command_or_a_reason(routes: dict[str, Any]) -> None:
    assert COMMANDS.keys() & REASONS.keys() == set()
    assert set(routes) == COMMANDS.keys() | REASONS.keys()


@pytest.mark.parametrize("words", sorted(set(COMMANDS.values())))
def test_the_command_of_a_route_exists(words: str) -> None:
    assert not hasattr(command(words), "commands")


def test_the_command_of_a_write_has_the_options_of_writes(routes: dict[str, Any]) -> None:
    writes = {COMMANDS[route] for route, each in routes.items() if route in COMMANDS and _has(each, "dry_run")}

    lacking = {words: {"--dry-run", "--reason", "--output", "-o"} - options(words) for words in writes}
    assert {words: found for words, found in lacking.items() if found} == {}


def test_the_command_of_a_list_or_an_object_has_an_output_format() -> None:
    shown = {words for route, words in COMMANDS.items() if route.startswith("GET ")}
    lines = {"status", "run show-log", "lineage export"}  # lines of text, or a format of its own

    assert {words for words in shown - lines if "--output" not in options(words)} == {"session delete"}


def _has(operation: Mapping[str, Any], parameter: str) -> bool:
    return any(each["name"] == parameter for each in operation.get("parameters", ()))
