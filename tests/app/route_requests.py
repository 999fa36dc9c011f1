"""Requests to each route in a generated organization: path, body and query, with names of its resources."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.app.generated_organization import OTHER, SOMEBODY, Scene


@dataclass(frozen=True)
class Asked:
    """A request below `/api/v1`; for reads, `on` is the resource that it shows."""

    path: str
    body: Any = None
    query: Mapping[str, str] = field(default_factory=dict)
    on: str = ""


Prepared = Callable[[Scene], Iterable[Asked]]


def _once(path: str, body: Any = None, needs: str = "") -> Prepared:
    """Return one such request, if the model has the type."""

    def asked(scene: Scene) -> Iterator[Asked]:
        if not needs or needs in scene.things:
            yield Asked(path, body, on=scene.things.get(needs, ""))

    return asked


def _each(path: str, body: Any = None) -> Prepared:
    """Return one such request for one resource of each type."""
    return lambda scene: (Asked(path.format(id), body, on=id) for _, id in scene.pairs if "/" not in id)


def _below(type: str) -> Prepared:
    """Return requests to create a resource of a type below every resource that may be its parent."""

    def asked(scene: Scene) -> Iterator[Asked]:
        known = scene.model.types.get(type)
        for parent in known.parents if known else ():
            if parent in scene.things:
                yield Asked(f"/{type.replace('_', '-')}s", {"name": "new", "parent": scene.things[parent]})

    return asked


def _resources(scene: Scene) -> Iterator[Asked]:
    for type, _ in scene.pairs:
        for parent in scene.model.types[type].parents:
            if parent in scene.things:
                yield Asked("/resources", {"type": type, "name": "new", "parent": scene.things[parent]})


def _given(scene: Scene) -> Iterator[tuple[str, str]]:
    for role in scene.model.roles.values():
        for type in sorted(role.on & scene.things.keys()):
            yield role.name, scene.things[type]


def _assignments(scene: Scene) -> Iterator[Asked]:
    for role, on in _given(scene):
        yield Asked("/assignments", {"subject": OTHER, "role": role, "resource": on})


def _held(body: Any = None) -> Prepared:
    def asked(scene: Scene) -> Iterator[Asked]:
        for name in scene.holders:
            role, _, type = name.partition("-of-")
            if type:
                yield Asked("/assignments", body, {"subject": name, "role": role, "resource": scene.things[type]})

    return asked


def _project(body: Any = None) -> Prepared:
    def asked(scene: Scene) -> Iterator[Asked]:
        if "project" in scene.things:
            found = scene.place.control.snapshot.resources[scene.things["project"]]
            yield Asked(f"/projects/{found.name}", body, on=found.id)

    return asked


def _settings(scene: Scene) -> Iterator[Asked]:
    for setting in scene.model.settings.values():
        if setting.on[0] in scene.things:
            body = {"value": setting.values[-1], "resource": scene.things[setting.on[0]]}
            yield Asked(f"/settings/{setting.name}", body)


_AGREED = {"port": "output_port", "consumer": OTHER, "purpose": "to read"}

WRITES: Mapping[str, Prepared] = {
    "POST /access": _once("/access", _AGREED, "output_port"),
    "POST /access/add": _once("/access/add", _AGREED, "output_port"),
    "PATCH /access/{access}": _once("/access/agreed", {"purpose": "to see"}, "output_port"),
    "DELETE /access/{access}": _once("/access/agreed", None, "output_port"),
    "POST /access/{access}/approve": _once("/access/asked/approve", {}, "output_port"),
    "POST /access/{access}/reject": _once("/access/asked/reject", None, "output_port"),
    "POST /access/{access}/terminate": _once("/access/agreed/terminate", None, "output_port"),
    "POST /assignments": _assignments,
    "PATCH /assignments": _held({"role": "viewer"}),
    "DELETE /assignments": _held(),
    "POST /assignments/batch": lambda scene: (
        Asked("/assignments/batch", {"assignments": [each.body]}) for each in _assignments(scene)
    ),
    "POST /clusters": _below("cluster"),
    "POST /data-contracts": _below("data_contract"),
    "POST /data-products": _below("data_product"),
    "POST /databases": _below("database"),
    "POST /domains": _below("domain"),
    "PATCH /domains/{team}": _once("/domains/domain", {"name": "new"}, "domain"),
    "DELETE /domains/{team}": _once("/domains/domain", None, "domain"),
    "PUT /domains/{team}/members/{member}": _once(f"/domains/domain/members/{OTHER}", {"role": "member"}, "domain"),
    "DELETE /domains/{team}/members/{member}": _once("/domains/domain/members/member-of-domain", None, "domain"),
    "POST /teams": _below("team"),
    "PATCH /teams/{team}": _once("/teams/team", {"name": "new"}, "team"),
    "DELETE /teams/{team}": _once("/teams/team", None, "team"),
    "PUT /teams/{team}/members/{member}": _once(f"/teams/team/members/{OTHER}", {"role": "member"}, "team"),
    "DELETE /teams/{team}/members/{member}": _once("/teams/team/members/member-of-team", None, "team"),
    "POST /groups": _once("/groups", {"name": "new"}, "group"),
    "PATCH /groups/{group}": _once("/groups/crew", {"name": "new"}, "group"),
    "DELETE /groups/{group}": _once("/groups/crew", None, "group"),
    "PUT /groups/{group}/members/{member}": _once(f"/groups/crew/members/{OTHER}", None, "group"),
    "DELETE /groups/{group}/members/{member}": _once(f"/groups/crew/members/{SOMEBODY}", None, "group"),
    "PATCH /organization": _once("/organization", {"name": "new"}),
    "DELETE /pipelines/{pipeline}": _each("/pipelines/{}"),
    **{
        f"POST /pipelines/{{pipeline}}/{verb}": _each(f"/pipelines/{{}}/{verb}")
        for verb in ("activate", "deactivate", "pause", "resume", "clean-and-restart")
    },
    "POST /projects": _once("/projects", {"name": "new"}),
    "PATCH /projects/{project}": _project({"name": "new"}),
    "DELETE /projects/{project}": _project(),
    "POST /resources": _resources,
    "PATCH /resources/{resource}": _each("/resources/{}", {"name": "new"}),
    "DELETE /resources/{resource}": _each("/resources/{}"),
    "PUT /resources/{resource}/description": _each("/resources/{}/description", {"text": "it is so"}),
    "PUT /resources/{resource}/document": _each("/resources/{}/document", {}),
    "PUT /roles/{role}": _once("/roles/new", {"permissions": []}),
    "DELETE /roles/{role}": _once("/roles/new"),
    "POST /service-principals": _once("/service-principals", {"name": "new"}),
    "PATCH /service-principals/{service_principal}": _once("/service-principals/program", {"name": "new"}),
    "DELETE /service-principals/{service_principal}": _once("/service-principals/program"),
    "PUT /settings/{setting}": _settings,
    "POST /users": _once("/users", {"name": "new"}),
    "DELETE /users/{user}": _once(f"/users/{SOMEBODY}"),
}
"""Routes that change something and offer a dry run."""

DISCOVER = "discover"

READS: Mapping[str, tuple[str, Prepared]] = {
    "GET /access/{access}": (DISCOVER, _once("/access/agreed", None, "output_port")),
    "GET /audit": ("organization.read_audit", _once("/audit", None, "organization")),
    "GET /audit/decisions": ("organization.read_audit", _once("/audit/decisions", None, "organization")),
    "GET /groups/{group}": (DISCOVER, _once("/groups/crew", None, "group")),
    "GET /groups/{group}/members": (DISCOVER, _once("/groups/crew/members", None, "group")),
    "GET /service-principals/{service_principal}": (
        DISCOVER,
        _once("/service-principals/program", None, "service_principal"),
    ),
    "GET /settings": ("organization.see_settings", _once("/settings", None, "organization")),
    "GET /domains/{team}": (DISCOVER, _once("/domains/domain", None, "domain")),
    "GET /domains/{team}/members": (DISCOVER, _once("/domains/domain/members", None, "domain")),
    "GET /teams/{team}": (DISCOVER, _once("/teams/team", None, "team")),
    "GET /teams/{team}/members": (DISCOVER, _once("/teams/team/members", None, "team")),
    "GET /projects/{project}": (DISCOVER, _project()),
    "GET /resources/{resource}": (DISCOVER, _each("/resources/{}")),
    "GET /resources/{resource}/children": (DISCOVER, _each("/resources/{}/children")),
    "GET /resources/{resource}/description": ("{type}.describe", _each("/resources/{}/description")),
    "GET /resources/{resource}/document": ("{type}.describe", _each("/resources/{}/document")),
    "POST /questions/who": (
        "organization.ask",
        _once("/questions/who", {"action": "organization.ask", "resource": "organization"}, "organization"),
    ),
    "POST /questions/what-if": (
        "organization.ask",
        _once(
            "/questions/what-if",
            {"steps": [{"assign": {"subject": OTHER, "role": "member", "resource": "organization"}}]},
            "organization",
        ),
    ),
}
"""Routes that show one resource, with the action that they need on it."""

LISTS = (
    "/access",
    "/assignments",
    "/change-requests",
    "/clusters",
    "/connections",
    "/data-contracts",
    "/data-products",
    "/databases",
    "/domains",
    "/groups",
    "/pipelines",
    "/projects",
    "/resources",
    "/service-principals",
    "/teams",
    "/users",
)
"""Routes that list what the caller may discover."""

_PIPELINES = "a pipeline is more than its resource: tests/app/api and tests/pipelines"
_PROPOSALS = "what may be proposed is what may be changed: tests/app/api"
_APART = "it is not about one resource of the organization: tests/app/api"
_OPERATED = "operators do it in the deployment: tests/endpoints/api/operations/test_deployment.py"

ELSEWHERE: Mapping[str, str] = {
    "DELETE /connections/{connection}": _PIPELINES,
    "DELETE /deployment/organizations/{organization}": _OPERATED,
    "DELETE /organization": _APART,
    "GET /change-requests/{request}": _PROPOSALS,
    "GET /deployment/organizations": _OPERATED,
    "GET /pipelines/{pipeline}": _PIPELINES,
    "GET /resources/{resource}/who": "as `POST /questions/who`",
    "GET /connections/{connection}": _PIPELINES,
    "PUT /connections/{connection}/secret": _PIPELINES,
    "GET /lineage": _PIPELINES,
    "GET /lineage/events": _PIPELINES,
    "GET /pipelines/{pipeline}/chart.svg": _PIPELINES,
    "GET /pipelines/{pipeline}/rows": _PIPELINES,
    "GET /runs": _PIPELINES,
    "GET /users/{user}": "a user is no resource that could be discovered: tests/endpoints/api/identity/test_users.py",
    "GET /runs/{run}": _PIPELINES,
    "GET /runs/{run}/log": _PIPELINES,
    "POST /change-requests": _PROPOSALS,
    "POST /change-requests/{request}/approve": _PROPOSALS,
    "POST /change-requests/{request}/reject": _PROPOSALS,
    "POST /connections": _PIPELINES,
    "POST /deployment/organizations/{organization}/resume": _OPERATED,
    "POST /deployment/organizations/{organization}/suspend": _OPERATED,
    "POST /invitations": _APART,
    "POST /notifications/{notification}/dismiss": _APART,
    "POST /organizations": _APART,
    "POST /pipelines/{pipeline}/runs": _PIPELINES,
    "POST /pipelines/{pipeline}/backfill": _PIPELINES,
    "POST /runs/{run}/cancel": _PIPELINES,
    "POST /runs/{run}/retry": _PIPELINES,
    "POST /pipelines/{pipeline}/streams": _PIPELINES,
    "POST /pipelines/{pipeline}/streams/{stream}/disable": _PIPELINES,
    "POST /pipelines/{pipeline}/streams/{stream}/enable": _PIPELINES,
    "POST /requests/{request}/approve": "as the assignment that it makes",
    "POST /requests/{request}/reject": "as the assignment that it would make",
    "POST /resources/{resource_name}/move-to-cluster": _PIPELINES,
    "PUT /pipelines/{pipeline}": _PIPELINES,
    "GET /deployment/models": _OPERATED,
    "POST /deployment/models": _OPERATED,
    "GET /deployment/models/{model}": _OPERATED,
    "DELETE /deployment/models/{model}": _OPERATED,
    "PUT /deployment/organizations/{organization}/model": _OPERATED,
}
"""Routes that need more than a generated organization, with the reason, or the tests that check their privileges."""
