"""Is it up."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict

from headgate.endpoints.common.context import CurrentApp
from headgate.endpoints.common.route_metadata import public

router = APIRouter(tags=["status"])


class Health(BaseModel):
    """Whether the API and Spark answer."""

    model_config = ConfigDict(extra="allow")

    api: str


@router.get("/health", response_model=Health, **public("whether the API and Spark answer, and nothing about anybody"))
def get_health(deployed: CurrentApp) -> dict[str, Any]:
    """Tell whether the API and Spark answer."""
    return dict(deployed.health())
