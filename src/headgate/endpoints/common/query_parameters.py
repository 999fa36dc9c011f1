"""Unknown query parameters are refused: a misspelt filter that is ignored would return a list that is not filtered."""

from fastapi import Request, params
from fastapi.dependencies.utils import get_flat_params
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

_LONGEST = 100
"""The most characters of an unknown name that the response repeats."""


async def require_known_parameters(request: Request) -> None:
    """Raise `RequestValidationError` for query parameters that the route does not have."""
    if not request.query_params:
        return
    known = _parameters_of(request.scope["route"])
    unknown = [name for name in dict.fromkeys(request.query_params) if name not in known]
    if unknown:
        listed = f"this route has {', '.join(f'`{each}`' for each in known)}" if known else "this route has none"
        error = f"there is no such query parameter; {listed}"
        raise RequestValidationError(
            [
                {"type": "value_error", "loc": ("query", name[:_LONGEST]), "ctx": {"error": error}, "input": None}
                for name in unknown
            ]
        )


def _parameters_of(route: APIRoute) -> tuple[str, ...]:
    # The fields of a form of query parameters are fields of Pydantic, not of FastAPI.
    elsewhere = (params.Path, params.Header, params.Cookie)
    fields = get_flat_params(route.dependant)
    return tuple(dict.fromkeys(each.alias for each in fields if not isinstance(each.field_info, elsewhere)))
