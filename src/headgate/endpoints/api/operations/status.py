"""Health check."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from headgate.endpoints.common.context import CurrentApp
from headgate.endpoints.common.indexed_router import ApiRouter
from headgate.endpoints.common.route_metadata import public

router = ApiRouter(tags=["status"])


class Health(BaseModel):
    """The health of the API and of Spark."""

    model_config = ConfigDict(extra="allow")

    api: str


@router.get(
    "/health", response_model=Health, **public("returns the health of the API and of Spark, and no data of users")
)
def get_health(deployed: CurrentApp) -> dict[str, Any]:
    """Check whether the API and Spark respond."""
    return dict(deployed.health())
