"""Default values of columns (format version 3): typed literals in JSON.

Source: "JSON single-value serialization" of the Iceberg specification, in the form that Iceberg's Java library reads.
"""

import math
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from typing import Any, Final

from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from headgate.lake.number_widths import has_width

LONGEST_DEFAULT: Final = 16_384
"""The maximum length of a default, in characters: every load of the table reads it, and Spark parses it as a literal."""

_TIME: Final = r"\d\d:\d\d:\d\d"
_CLOCK: Final = re.compile(rf"{_TIME}(\.\d{{1,6}})?", re.ASCII)
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_MOMENT: Final = re.compile(rf"\d{{4}}-\d\d-\d\dT{_TIME}(\.\d{{1,6}})?", re.ASCII)
_NANO_MOMENT: Final = re.compile(rf"(\d{{4}}-\d\d-\d\dT{_TIME})(\.\d{{1,9}})?", re.ASCII)
_NUMBER: Final = re.compile(r"-?\d+(?:\.(\d+))?", re.ASCII)
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_BYTES: Final = re.compile(r"([0-9a-fA-F]{2})*")
_UTC: Final = "+00:00"
_NANO_YEARS: Final = range(1678, 2262)
"""The years whose nanoseconds since 1970 fit into 64 bits."""
_FLOAT_MAX: Final = 3.4028234663852886e38


def is_default_of(type: IcebergType, value: Any) -> bool:
    """Whether a value of a JSON document is a default of the type. Types without a rule have no default but null."""
    check = _CHECKS.get(type.__class__)
    if check is None or (isinstance(value, str) and len(value) > LONGEST_DEFAULT):
        return False
    try:
        return check(type, value)
    except (ValueError, OverflowError):
        return False


def _is_boolean(_type: Any, value: Any) -> bool:
    return isinstance(value, bool)


def _is_integer(bits: int) -> Callable[[Any, Any], bool]:
    return lambda _, value: type(value) is int and has_width(value, bits)


def _is_real(largest: float) -> Callable[[Any, Any], bool]:
    def check(_type: Any, value: Any) -> bool:
        return type(value) is float and math.isfinite(value) and abs(value) <= largest

    return check


def _is_decimal(type: DecimalType, value: Any) -> bool:
    found = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    if found is None or len(found[1] or "") != type.scale:
        return False
    return len(found[0].lstrip("-").replace(".", "").lstrip("0")) <= type.precision


def _is_text(_type: Any, value: Any) -> bool:
    return isinstance(value, str) and _is_unicode(value)


def _is_unicode(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_bytes(type: Any, value: Any) -> bool:
    if not isinstance(value, str) or not _BYTES.fullmatch(value):
        return False
    return not isinstance(type, FixedType) or len(value) == 2 * len(type)


def _is_date(_type: Any, value: Any) -> bool:
    return isinstance(value, str) and _DAY.fullmatch(value) is not None and bool(date.fromisoformat(value))


def _is_time(_type: Any, value: Any) -> bool:
    return isinstance(value, str) and _CLOCK.fullmatch(value) is not None and time.fromisoformat(value) is not None


def _is_timestamp(type: Any, value: Any) -> bool:
    plain = _without_zone(value, with_zone=isinstance(type, TimestamptzType))
    return plain is not None and _MOMENT.fullmatch(plain) is not None and bool(datetime.fromisoformat(plain))


def _is_nano_timestamp(type: Any, value: Any) -> bool:
    plain = _without_zone(value, with_zone=isinstance(type, TimestamptzNanoType))
    found = _NANO_MOMENT.fullmatch(plain) if plain is not None else None
    return found is not None and datetime.fromisoformat(found[1]).year in _NANO_YEARS


def _without_zone(value: Any, *, with_zone: bool) -> str | None:
    if not isinstance(value, str) or value.endswith(_UTC) is not with_zone:
        return None
    return value.removesuffix(_UTC)


def _is_uuid(_type: Any, value: Any) -> bool:
    return isinstance(value, str) and _UUID.fullmatch(value) is not None


_CHECKS: Final[Mapping[type, Callable[[Any, Any], bool]]] = {
    BooleanType: _is_boolean,
    IntegerType: _is_integer(32),
    LongType: _is_integer(64),
    FloatType: _is_real(_FLOAT_MAX),
    DoubleType: _is_real(math.inf),
    DecimalType: _is_decimal,
    StringType: _is_text,
    UUIDType: _is_uuid,
    FixedType: _is_bytes,
    BinaryType: _is_bytes,
    DateType: _is_date,
    TimeType: _is_time,
    TimestampType: _is_timestamp,
    TimestamptzType: _is_timestamp,
    TimestampNanoType: _is_nano_timestamp,
    TimestamptzNanoType: _is_nano_timestamp,
}
