"""The routes of the Iceberg REST catalog, and the list of them in `/v1/config`."""

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, BackgroundTasks, Depends, Header, Query, Request, Response
from fastapi.routing import APIRoute

from headgate.endpoints.common.context import deployed
from headgate.endpoints.common.denials import record_denial
from headgate.endpoints.common.route_metadata import DISCOVER, NEEDS
from headgate.endpoints.iceberg_rest import commits, namespaces, tables, views
from headgate.endpoints.iceberg_rest.catalog_callers import AuthenticateRequest
from headgate.endpoints.iceberg_rest.errors import ERRORS, SpecRoute, nothing_here
from headgate.endpoints.iceberg_rest.request import CATALOG_ENDPOINT, CatalogRequest, identify_request

_NAMESPACES = "/v1/namespaces"
_NAMESPACE = "/v1/namespaces/{namespace}"
_TABLES = "/v1/namespaces/{namespace}/tables"
_TABLE = "/v1/namespaces/{namespace}/tables/{table}"
_VIEWS = "/v1/namespaces/{namespace}/views"
_VIEW = "/v1/namespaces/{namespace}/views/{view}"

_REMEMBERED = "PT24H"
"""How long a client may retry a request with the same idempotency key (ISO 8601); results are stored longer."""


async def _asked(request: Request) -> CatalogRequest:
    return request.state.asking


Asked = Annotated[CatalogRequest, Depends(_asked)]
Token = Annotated[str | None, Query(alias="pageToken")]
Size = Annotated[str | None, Query(alias="pageSize")]


def iceberg_router(identify: AuthenticateRequest) -> APIRouter:
    """Return the routes, to include under any prefix. `identify` returns the caller and the lake of a request."""

    async def ask(request: Request) -> None:
        request.state.record_denial = partial(record_denial, request.scope, CATALOG_ENDPOINT)
        asking = await identify_request(request, identify)
        request.state.asking = asking
        request.state.record_denial = partial(asking.record_denial, deployed(request).audit)

    # Authentication comes before every route, also the last one: without a token, a client learns nothing of the catalog.
    router = APIRouter(route_class=SpecRoute, tags=["iceberg"], dependencies=[Depends(ask)])
    _namespace_routes(router)
    _table_routes(router)
    _commit_routes(router)
    _view_routes(router)
    endpoints = [each for route in router.routes if isinstance(route, APIRoute) for each in _advertised(route)]

    @router.get("/v1/config", name="get_catalog_config", **_needs(DISCOVER))
    def config(asking: Asked) -> dict[str, Any]:
        # Spark would send a metrics report for each scan, and the catalog stores none.
        overrides = {"rest-metrics-reporting-enabled": "false"} if asking.who.guarded else {}
        lifetime = {"idempotency-key-lifetime": _REMEMBERED}
        return {"defaults": {}, "overrides": overrides, "endpoints": endpoints, **lifetime}

    @router.api_route("/{rest:path}", methods=["GET", "HEAD", "POST", "PUT", "DELETE"], include_in_schema=False)
    def nothing() -> None:
        raise nothing_here()

    return router


def _namespace_routes(router: APIRouter) -> None:
    @router.get(_NAMESPACES, **_needs(DISCOVER))
    def list_namespaces(
        asking: Asked, parent: str = "", page_token: Token = None, page_size: Size = None
    ) -> dict[str, Any]:
        return namespaces.list_namespaces(asking, parent, page_token, page_size)

    @router.post(_NAMESPACES, **_needs("lake.create_database"))
    def create_namespace(asking: Asked) -> dict[str, Any]:
        return namespaces.create_namespace(asking)

    @router.get(_NAMESPACE, **_needs(DISCOVER))
    def load_namespace(asking: Asked) -> dict[str, Any]:
        return namespaces.load_namespace(asking)

    @router.head(_NAMESPACE, status_code=204, **_needs(DISCOVER))
    def namespace_exists(asking: Asked) -> Response:
        namespaces.load_namespace(asking)
        return _nothing()

    @router.post(f"{_NAMESPACE}/properties", **_needs("database.alter"))
    def change_namespace_properties(asking: Asked) -> dict[str, Any]:
        return namespaces.change_properties(asking)

    @router.delete(_NAMESPACE, status_code=204, **_needs("database.drop"))
    def drop_namespace(asking: Asked) -> Response:
        namespaces.drop_namespace(asking)
        return _nothing()


def _table_routes(router: APIRouter) -> None:
    @router.get(_TABLES, **_needs(DISCOVER))
    def list_tables(asking: Asked, page_token: Token = None, page_size: Size = None) -> dict[str, Any]:
        return namespaces.list_tables(asking, page_token, page_size, views=False)

    @router.post(_TABLES, **_needs("database.create_table"))
    def create_table(asking: Asked) -> Response:
        return tables.create_table(asking)

    @router.post(f"{_NAMESPACE}/register", **_needs("lake.register_table", "database.create_table"))
    def register_table(asking: Asked) -> Response:
        return tables.register_table(asking)

    @router.get(_TABLE, **_needs("table.select"))
    def load_table(
        asking: Asked, snapshots: str = "all", if_none_match: Annotated[str | None, Header()] = None
    ) -> Response:
        return tables.load_table(asking, snapshots, if_none_match)

    @router.head(_TABLE, status_code=204, **_needs(DISCOVER))
    def table_exists(asking: Asked) -> Response:
        tables.table_exists(asking)
        return _nothing()

    _table_life_routes(router)


def _table_life_routes(router: APIRouter) -> None:
    @router.get(f"{_TABLE}/credentials", **_needs("table.select"))
    def load_credentials(asking: Asked) -> dict[str, Any]:
        return tables.table_credentials(asking)

    @router.post(f"{_TABLE}/metrics", status_code=204, **_needs(DISCOVER))
    def report_metrics(asking: Asked) -> Response:
        tables.report_metrics(asking)
        return _nothing()

    @router.delete(_TABLE, status_code=204, **_needs("table.drop"))
    def drop_table(asking: Asked, background: BackgroundTasks, purgeRequested: str = "false") -> Response:  # noqa: N803
        dropped = tables.drop_table(asking, purge=purgeRequested.lower() == "true")
        if dropped.purge:
            background.add_task(dropped.purge)
        return Response(status_code=204)

    @router.post("/v1/tables/rename", status_code=204, **_needs("table.alter", "table.drop", "database.create_table"))
    def rename_table(asking: Asked) -> Response:
        tables.rename(asking)
        return _nothing()


def _commit_routes(router: APIRouter) -> None:
    changes = ("table.insert", "table.update", "table.delete_rows", "table.alter")

    @router.post(_TABLE, **_needs(*changes))
    def commit_table(asking: Asked) -> Response:
        return commits.commit_table(asking)

    @router.post("/v1/transactions/commit", status_code=204, **_needs(*changes))
    def commit_transaction(asking: Asked) -> Response:
        commits.commit_transaction(asking)
        return _nothing()


def _view_routes(router: APIRouter) -> None:
    @router.get(_VIEWS, **_needs(DISCOVER))
    def list_views(asking: Asked, page_token: Token = None, page_size: Size = None) -> dict[str, Any]:
        return namespaces.list_tables(asking, page_token, page_size, views=True)

    @router.post(_VIEWS, **_needs("database.create_view"))
    def create_view(asking: Asked) -> Response:
        return views.create_view(asking)

    @router.get(_VIEW, **_needs("table.describe", "table.select"))
    def load_view(asking: Asked) -> Response:
        return views.load_view(asking)

    @router.head(_VIEW, status_code=204, **_needs(DISCOVER))
    def view_exists(asking: Asked) -> Response:
        views.view_exists(asking)
        return _nothing()

    @router.post(_VIEW, **_needs("table.alter"))
    def commit_view(asking: Asked) -> Response:
        return views.commit_view(asking)

    @router.delete(_VIEW, status_code=204, **_needs("table.drop"))
    def drop_view(asking: Asked) -> Response:
        views.drop_view(asking)
        return _nothing()

    @router.post("/v1/views/rename", status_code=204, **_needs("table.alter", "table.drop", "database.create_view"))
    def rename_view(asking: Asked) -> Response:
        tables.rename(asking, view=True)
        return _nothing()


def _nothing() -> Response:
    return Response(status_code=204)


def _needs(*actions: str) -> dict[str, Any]:
    # The catalog's errors have the specification's format, so the routes do not document the API's problems.
    return {"openapi_extra": {NEEDS: list(actions)}, "responses": ERRORS}


def _advertised(route: APIRoute) -> list[str]:
    return [f"{method} {route.path.replace('/v1/', '/v1/{prefix}/', 1)}" for method in route.methods or ()]
