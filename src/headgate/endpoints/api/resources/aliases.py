"""Aliases of `/resources` for some types of resources, with the type in the path and a default parent."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pydantic import Field, create_model

from headgate.control.questions.resource_names import ORGANIZATION_NAME
from headgate.endpoints.api.resources.resources import ResourceCreate, ResourceSummary, create_resource, list_resources
from headgate.endpoints.common.context import CurrentApp
from headgate.endpoints.common.evaluation_time import CurrentEvaluation, RequestedEvaluation
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.lookup import LAKE
from headgate.endpoints.common.paging import CurrentPaging
from headgate.endpoints.common.resource_changes import AttributesBody, Edges
from headgate.endpoints.common.route_metadata import DISCOVER, document_actions
from headgate.endpoints.common.schemas import Called, StrictSchema, Title, page_model
from headgate.endpoints.common.writes import DONE, Writes

router = ApiRouter(tags=["resources"])


class _Noun(NamedTuple):
    type: str
    parent: str


NOUNS: Mapping[str, _Noun] = {
    "databases": _Noun("database", LAKE),
    "clusters": _Noun("cluster", "project"),
    "data-products": _Noun("data_product", ORGANIZATION_NAME),
    "data-contracts": _Noun("data_contract", ORGANIZATION_NAME),
}


def _list(noun: _Noun) -> Callable[..., Any]:
    def list_them(moment: RequestedEvaluation, pages: CurrentPaging) -> dict[str, Any]:
        return list_resources(moment, pages, type=noun.type)

    return list_them


class _AliasCreate(StrictSchema):
    # `_create` replaces the default of `parent` for each noun.
    name: Title
    parent: Called = ORGANIZATION_NAME
    relations: Edges = Field(default_factory=dict)
    attributes: AttributesBody = Field(default_factory=dict)


def _create(noun: _Noun) -> Callable[..., Any]:
    words = noun.type.title().replace("_", "")
    body_type: Any = create_model(f"{words}Create", __base__=_AliasCreate, parent=(Called, noun.parent))

    def create(
        body: body_type,  # pyright: ignore[reportInvalidTypeForm] (FastAPI reads the type of the body here)
        deployed: CurrentApp,
        moment: CurrentEvaluation,
        write: Writes,
    ) -> dict[str, Any]:
        return create_resource(ResourceCreate(type=noun.type, **dict(body)), deployed, moment, write)

    return create


for _name, _noun in NOUNS.items():
    _words = _noun.type.replace("_", " ")
    router.add_api_route(
        f"/{_name}",
        _list(_noun),
        methods=["GET"],
        name=f"list_{_noun.type}s",
        summary=f"List {_words}s",
        response_model=page_model(ResourceSummary),
        **document_actions(DISCOVER),
    )
    router.add_api_route(
        f"/{_name}",
        _create(_noun),
        methods=["POST"],
        status_code=201,
        name=f"create_{_noun.type}",
        summary=f"Create a {_words}",
        **DONE,
        **document_actions(f"{{parent}}.create_{_noun.type}"),
    )
