"""Length limits of the texts in a request outside of its plan. The limit of the message size bounds the plan."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor

from headgate.spark.gateway.artifact_names import MAX_ARTIFACTS
from headgate.spark.gateway.errors import RequestRefusedError
from headgate.spark.gateway.policy.schemas import MAX_SCHEMA_BYTES

_SHORT: Final = 2048
"""PySpark limits its `client_type` to this length too."""
MAX_SETTINGS: Final = 256
_ANY_REQUEST: Final = "Request"

_LENGTHS: Final[Mapping[str, int]] = {
    "BeginChunkedArtifact.name": _SHORT,
    "DDLParse.ddl_string": MAX_SCHEMA_BYTES,
    "Get.keys": _SHORT,
    "GetOption.keys": _SHORT,
    "IsModifiable.keys": _SHORT,
    "JsonToDDL.json_string": MAX_SCHEMA_BYTES,
    "KeyValue.key": _SHORT,
    "KeyValue.value": _SHORT,
    "ReleaseUntil.response_id": _SHORT,
    "Request.client_observed_server_side_session_id": _SHORT,
    "Request.client_type": _SHORT,
    "Request.error_id": _SHORT,
    "Request.last_response_id": _SHORT,
    "Request.names": _SHORT,
    "Request.new_session_id": _SHORT,
    "Request.operation_id": _SHORT,
    "Request.operation_tag": _SHORT,
    "Request.session_id": _SHORT,
    "Request.tags": _SHORT,
    "SingleChunkArtifact.name": _SHORT,
    "Unset.keys": _SHORT,
    "UserContext.user_id": _SHORT,
    "UserContext.user_name": _SHORT,
}
"""Field -> the limit of characters of each of its texts. `Request` is the outermost message of every call."""
_COUNTS: Final[Mapping[str, int]] = {
    "Get.keys": MAX_SETTINGS,
    "GetOption.keys": MAX_SETTINGS,
    "GetWithDefault.pairs": MAX_SETTINGS,
    "IsModifiable.keys": MAX_SETTINGS,
    "Request.names": MAX_ARTIFACTS,
    "Request.tags": 64,
    "Set.pairs": MAX_SETTINGS,
    "Unset.keys": MAX_SETTINGS,
}
"""Repeated field -> the limit of its values."""


@cache
def find_bounds(field: FieldDescriptor) -> tuple[int | None, int | None]:
    """Return the limits of characters and of values of a field; None where only the message size is limited."""
    *outer, message, name = field.full_name.removeprefix("spark.connect.").split(".")
    is_outermost = not outer and message.endswith(_ANY_REQUEST)
    place = f"{_ANY_REQUEST if is_outermost else message}.{name}"
    return _LENGTHS.get(place), _COUNTS.get(place)


def check_length(field: FieldDescriptor, value: Any) -> None:
    """Raise `RequestRefusedError` if a text of the field is too long, or the field has too many values."""
    length, count = find_bounds(field)
    if count is not None and len(value) > count:
        raise RequestRefusedError(
            f"the field `{field.name}` of the request has more than {count:,} values; send fewer values in one request"
        )
    if length is None:
        return
    if any(len(text) > length for text in (value if field.is_repeated else (value,))):
        raise RequestRefusedError(
            f"a string in the field `{field.name}` of the request is longer than {length:,} characters; shorten the string"
        )
