"""Connections: targets outside the lake that pipelines may read and write. No response contains the secret of a connection."""

import os
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, model_validator

from headgate.control.connections.commands import (
    CONNECTION,
    ChangeSecret,
    ConnectionTarget,
    CreateConnection,
    DeleteConnection,
    Folder,
    Http,
    PostgreSql,
    secret_of,
)
from headgate.control.connections.vault import Vault, VaultError
from headgate.control.connections.vault_rotation import reencrypt_new_secret
from headgate.control.kernel.errors import InvalidError, NotFoundError
from headgate.control.kernel.ids import new_id
from headgate.control.organizations.organization import Organization
from headgate.endpoints.api.resources.resources import ResourceSummary, find_readable, list_resources
from headgate.endpoints.common.context import CurrentApp, CurrentCaller, CurrentOrganization
from headgate.endpoints.common.evaluation_time import CurrentEvaluation, RequestedEvaluation
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.lookup import Text, default_project, find_resource
from headgate.endpoints.common.paging import CurrentPaging
from headgate.endpoints.common.problems import ProblemError
from headgate.endpoints.common.route_metadata import DISCOVER, document_actions
from headgate.endpoints.common.schemas import Called, StrictSchema, Title, page_model
from headgate.endpoints.common.writes import DONE, Writes
from headgate.facts.ids import ResourceId

router = ApiRouter(tags=["connections"])

_TYPE = "connection"

Password = Annotated[str, Field(max_length=1000)]
Headers = Annotated[dict[str, str], Field(max_length=50)]


class PostgreSqlConnectionCreate(StrictSchema):
    """A PostgreSQL database, and the user and password to log in with. No response contains the password."""

    host: Annotated[Text, Field(max_length=253)]
    port: int = Field(default=5432, ge=1, le=65535)
    database: Annotated[Text, Field(max_length=63)]
    user: Annotated[Text, Field(max_length=63)]
    password: Password = ""
    sslmode: Literal["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] = "prefer"


class HttpConnectionCreate(StrictSchema):
    """An HTTP API, and the headers of the requests to it. No response contains the values of the headers."""

    base_url: Annotated[Text, Field(max_length=2000)]
    headers: Headers = Field(default_factory=dict[str, str])


class ConnectionCreate(StrictSchema):
    """A connection to a folder on the server's machine, a PostgreSQL database or an HTTP API, for the pipelines of a project.

    Without `project`, it is created in the organization's default project.
    """

    name: Title
    folder: Annotated[Text, Field(max_length=4000)] | None = None
    postgresql: PostgreSqlConnectionCreate | None = None
    http: HttpConnectionCreate | None = None
    project: Called | None = None

    @model_validator(mode="after")
    def _one(self) -> "ConnectionCreate":
        count = sum(each is not None for each in (self.folder, self.postgresql, self.http))
        if count == 0:
            raise ValueError("the connection has no target; give one of `folder`, `postgresql` and `http`")
        if count > 1:
            raise ValueError("the connection has several targets; give only one of `folder`, `postgresql` and `http`")
        return self


class ConnectionSecret(StrictSchema):
    """A new secret: the password of a database, or all headers of an HTTP API."""

    password: Password | None = None
    headers: Headers | None = None


class Connection(BaseModel):
    """A connection and its target, without secrets."""

    id: str
    name: str
    kind: str
    folder: str | None = None
    host: str | None = None
    port: int | None = None
    database: str | None = None
    user: str | None = None
    sslmode: str | None = None
    base_url: str | None = None
    refused: str | None = None
    """The reason why the operator's egress rules forbid the connection; None if they allow it."""
    revision: int


@router.get("/connections", response_model=page_model(ResourceSummary), **document_actions(DISCOVER))
def list_connections(moment: RequestedEvaluation, pages: CurrentPaging) -> dict[str, Any]:
    """List the connections that the caller may see."""
    return list_resources(moment, pages, type=_TYPE)


@router.post(
    "/connections",
    status_code=201,
    **DONE,
    **document_actions("project.create_connection"),
)
def create_connection(
    body: ConnectionCreate,
    deployed: CurrentApp,
    organization: CurrentOrganization,
    caller: CurrentCaller,
    write: Writes,
) -> dict[str, Any]:
    """Create a connection. Other users may use it in pipelines after they are assigned a role on it."""
    place = default_project(organization) if body.project is None else find_resource(organization, caller, body.project)
    id = ResourceId(new_id("c"))
    behind, secret = _behind(body), _secret(body)
    encrypted = _encrypt(deployed.vault, id, secret)
    command = CreateConnection(id, place, body.name, behind, encrypted)
    decided = write.decide(command, of=id, id=id, name=body.name)
    # After the decision, so that a caller without the privilege cannot make the server resolve host names.
    fault = deployed.egress(organization).fault(behind.document())
    if fault is not None:
        raise InvalidError(fault)
    answer = decided.finish(warning=_warning(behind))
    _reencrypt(deployed.vault, organization, id, encrypted, secret)
    return answer


@router.get(
    "/connections/{connection}",
    response_model=Connection,
    response_model_exclude_none=True,
    **document_actions("connection.describe"),
)
def get_connection(
    connection: Called, deployed: CurrentApp, organization: CurrentOrganization, moment: CurrentEvaluation
) -> dict[str, Any]:
    """Get a connection and its target, without its secret."""
    found = find_readable(organization, moment, connection)
    document = organization.store.document(CONNECTION, found.id)
    if found.type != _TYPE or document is None:
        raise NotFoundError(organization.wording.hidden((connection,)))
    shown = {**document, "id": found.id, "name": found.name, "refused": deployed.egress(organization).fault(document)}
    return {**shown, "revision": moment.facts.revision}


@router.put("/connections/{connection}/secret", **DONE, **document_actions("connection.edit"))
def put_connection_secret(
    connection: Called,
    body: ConnectionSecret,
    deployed: CurrentApp,
    organization: CurrentOrganization,
    caller: CurrentCaller,
    write: Writes,
) -> dict[str, Any]:
    """Replace the secret of a connection. Runs that connect after this use the new secret."""
    id = find_resource(organization, caller, connection)
    document = organization.store.document(CONNECTION, id) or {}
    secret = secret_of(str(document.get("kind", _TYPE)), body.password, body.headers)
    if body.password is None and body.headers is None:
        raise InvalidError("the request has no new secret; give `password` or `headers`")
    encrypted = _encrypt(deployed.vault, id, secret) or {}
    answer = write.execute(ChangeSecret(id, encrypted), of=id, id=id)
    _reencrypt(deployed.vault, organization, id, encrypted, secret)
    return answer


@router.delete("/connections/{connection}", **DONE, **document_actions("connection.delete"))
def delete_connection(
    connection: Called, organization: CurrentOrganization, caller: CurrentCaller, write: Writes
) -> dict[str, Any]:
    """Delete a connection. Pipelines that declare it can no longer reach its target."""
    id = find_resource(organization, caller, connection)
    return write.execute(DeleteConnection(id), of=id, id=id)


def _behind(body: ConnectionCreate) -> ConnectionTarget:
    if body.postgresql is not None:
        return PostgreSql(**body.postgresql.model_dump(exclude={"password"}))
    return Http(body.http.base_url) if body.http is not None else Folder(body.folder or "")


def _warning(behind: ConnectionTarget) -> str | None:
    """Return a warning if the folder of a connection does not exist yet, else None."""
    # `Path.is_dir` raises an error for a folder that the server may not read.
    if isinstance(behind, Folder) and not os.path.isdir(behind.path):  # noqa: PTH112
        return f"there is no folder `{behind.path}` on the server's machine yet; create it before a run uses it"
    return None


def _secret(body: ConnectionCreate) -> dict[str, str] | None:
    if body.postgresql is not None:
        return dict(secret_of("postgresql", body.postgresql.password, None))
    return dict(secret_of("http", None, body.http.headers)) if body.http is not None else None


def _encrypt(vault: Vault, connection: ResourceId, secret: Any) -> Any:
    if secret is None:
        return None
    try:
        return vault.encrypt(connection, secret)
    except VaultError as error:
        raise ProblemError(503, "unavailable", str(error)) from error


def _reencrypt(vault: Vault, organization: Organization, connection: ResourceId, encrypted: Any, secret: Any) -> None:
    if not encrypted:
        return
    try:
        reencrypt_new_secret(organization.store, vault, connection, encrypted, secret)
    except VaultError as error:
        raise ProblemError(503, "unavailable", str(error)) from error
