"""Types of columns of format version 3 that PyIceberg cannot read, or writes otherwise than Iceberg's Java library."""

import re
from decimal import Decimal
from typing import Any, Final, Self

from pydantic import model_validator
from pyiceberg.conversions import from_json, to_json
from pyiceberg.typedef import TableVersion
from pyiceberg.types import DecimalType, PrimitiveType, TimestampNanoType, TimestamptzNanoType
from typing_extensions import override

_VARIANT: Final = "variant"
_CRS: Final = r"[A-Za-z0-9][A-Za-z0-9:._ -]{0,99}"
_GEOMETRY: Final = re.compile(rf"geometry(\({_CRS}\))?")
_GEOGRAPHY: Final = re.compile(rf"geography(\({_CRS}(, ?(spherical|vincenty|thomas|andoyer|karney))?\))?")


class OpaqueType(PrimitiveType):
    """A type whose values Iceberg does not compare: `variant`, `geometry` or `geography`, with the text that Java writes.

    No table is partitioned or sorted by such a column, it has no default, and it identifies no row.
    """

    root: str

    def __new__(cls, _text: str) -> Self:
        """Return an object of its own: PyIceberg would keep one for each text, for as long as the process runs."""
        return object.__new__(cls)

    def __init__(self, text: str) -> None:
        super().__init__(root=text)

    @model_validator(mode="wrap")
    @classmethod
    @override
    def handle_primitive_type(cls, v: Any, handler: Any) -> Any:
        """Return the type: its text is not parsed again."""
        return handler(v)

    @override
    def minimum_format_version(self) -> TableVersion:
        """Return the first format version of the type."""
        return 3

    @override
    def __repr__(self) -> str:
        return f"OpaqueType({self.root!r})"

    def __getnewargs__(self) -> tuple[str]:
        """Return the arguments that copy the type."""
        return (self.root,)


def parse_opaque_type(text: str) -> OpaqueType | None:
    """Return the type with this text, or None if the text is of a type that PyIceberg reads."""
    if text == _VARIANT or _GEOMETRY.fullmatch(text) or _GEOGRAPHY.fullmatch(text):
        return OpaqueType(text)
    if text.startswith((_VARIANT, "geometry", "geography")):
        raise ValueError(
            f"the type `{text[:100]}` is not valid; write `variant`, `geometry`, `geometry(<crs>)`, `geography` or "
            "`geography(<crs>, <algorithm>)`"
        )
    return None


@from_json.register(TimestampNanoType)
@from_json.register(TimestamptzNanoType)
def _read_nanoseconds(_type: PrimitiveType, value: str) -> str:
    """Return a default with nanoseconds as its text: PyIceberg has no value for it."""
    return value


@to_json.register(TimestampNanoType)
@to_json.register(TimestamptzNanoType)
def _write_nanoseconds(_type: PrimitiveType, value: str) -> str:
    return value


@to_json.register(DecimalType)
def _write_decimal(_type: PrimitiveType, value: Decimal) -> str:
    """Return a default without an exponent, which PyIceberg writes for small numbers."""
    return format(value, "f")
