"""The routes of the Iceberg REST catalog, and what `/v1/config` says is there."""

from typing import Annotated, Any

from fastapi import APIRouter, BackgroundTasks, Depends, Request, Response
from fastapi.routing import APIRoute

from headgate.doors.api.routing import DISCOVER, NEEDS
from headgate.doors.iceberg_rest.asking import Asking, identified
from headgate.doors.iceberg_rest.errors import ERRORS, SpecRoute, nothing_here
from headgate.doors.iceberg_rest.namespaces import Namespaces
from headgate.doors.iceberg_rest.ports import Gate, Identify
from headgate.doors.iceberg_rest.tables import Tables
from headgate.lake.catalog import TableCatalog

_NAMESPACES = "/v1/namespaces"
_NAMESPACE = "/v1/namespaces/{namespace}"
_TABLES = "/v1/namespaces/{namespace}/tables"
_TABLE = "/v1/namespaces/{namespace}/tables/{table}"


async def _asked(request: Request) -> Asking:
    return request.state.asking


Asked = Annotated[Asking, Depends(_asked)]


def iceberg_router(gate: Gate, catalog: TableCatalog, identify: Identify, lake: str = "lake") -> APIRouter:
    """Return the routes for one lake, to be included under any prefix."""

    async def ask(request: Request) -> None:
        request.state.asking = await identified(request, identify)

    # Before every route, the last one too: nobody learns anything here without a token.
    router = APIRouter(route_class=SpecRoute, tags=["iceberg"], dependencies=[Depends(ask)])
    _namespace_routes(router, Namespaces(gate, lake))
    _table_routes(router, Tables(gate, catalog, lake))
    endpoints = [each for route in router.routes if isinstance(route, APIRoute) for each in _advertised(route)]

    @router.get("/v1/config", **_needs(DISCOVER))
    def config() -> dict[str, Any]:
        return {"defaults": {}, "overrides": {}, "endpoints": endpoints}

    @router.api_route("/{rest:path}", methods=["GET", "HEAD", "POST", "PUT", "DELETE"], include_in_schema=False)
    def nothing() -> None:
        raise nothing_here()

    return router


def _namespace_routes(router: APIRouter, namespaces: Namespaces) -> None:
    @router.get(_NAMESPACES, **_needs(DISCOVER))
    def list_namespaces(asking: Asked, parent: str = "") -> dict[str, Any]:
        return namespaces.list(asking, parent)

    @router.post(_NAMESPACES, **_needs("lake.create_database"))
    def create_namespace(asking: Asked) -> dict[str, Any]:
        return namespaces.create(asking)

    @router.get(_NAMESPACE, **_needs(DISCOVER))
    def load_namespace(asking: Asked) -> dict[str, Any]:
        return namespaces.load(asking)

    @router.head(_NAMESPACE, status_code=204, **_needs(DISCOVER))
    def namespace_exists(asking: Asked) -> Response:
        namespaces.load(asking)
        return Response(status_code=204)

    @router.delete(_NAMESPACE, status_code=204, **_needs("database.drop"))
    def drop_namespace(asking: Asked) -> Response:
        namespaces.drop(asking)
        return Response(status_code=204)

    @router.get(_TABLES, **_needs(DISCOVER))
    def list_tables(asking: Asked) -> dict[str, Any]:
        return namespaces.tables(asking)


def _table_routes(router: APIRouter, tables: Tables) -> None:
    @router.post(_TABLES, **_needs("database.create_table"))
    def create_table(asking: Asked) -> dict[str, Any]:
        return tables.create(asking)

    @router.get(_TABLE, **_needs("table.select"))
    def load_table(asking: Asked) -> dict[str, Any]:
        return tables.load(asking)

    @router.head(_TABLE, status_code=204, **_needs(DISCOVER))
    def table_exists(asking: Asked) -> Response:
        tables.exists(asking)
        return Response(status_code=204)

    @router.post(_TABLE, **_needs("table.insert", "table.update", "table.delete_rows", "table.alter"))
    def commit_table(asking: Asked) -> dict[str, Any]:
        return tables.commit(asking)

    @router.delete(_TABLE, status_code=204, **_needs("table.drop"))
    def drop_table(asking: Asked, background: BackgroundTasks, purgeRequested: str = "false") -> Response:  # noqa: N803
        dropped = tables.drop(asking, purge=purgeRequested.lower() == "true")
        if dropped.purge:
            background.add_task(dropped.purge)
        return Response(status_code=204)

    @router.post("/v1/tables/rename", status_code=204, **_needs("table.alter", "database.create_table"))
    def rename_table(asking: Asked) -> Response:
        tables.rename(asking)
        return Response(status_code=204)


def _needs(*actions: str) -> dict[str, Any]:
    # Errors here are of the specification's form, so that nothing else of the API's routes is said.
    return {"openapi_extra": {NEEDS: list(actions)}, "responses": ERRORS}


def _advertised(route: APIRoute) -> list[str]:
    return [f"{method} {route.path.replace('/v1/', '/v1/{prefix}/', 1)}" for method in route.methods or ()]
