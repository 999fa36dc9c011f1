"""Checks that numbers of the command line are finite: JSON has neither `NaN` nor `Infinity`."""

import json
import math
from typing import Any, TypeVar

import typer

Number = TypeVar("Number", float, float | None)


def require_finite(value: Number) -> Number:
    """Return the value of an option of type `float`. Raises `BadParameter` (exit code 2) for NaN and infinity."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"`{value}` is not a finite number; write a number such as 1.5")
    return value


def parse_json(text: str) -> Any:
    """Return the value of a JSON text. Raises `ValueError` for invalid JSON and for numbers that are not finite."""
    return json.loads(text, parse_constant=_finite, parse_float=_finite)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"`{text}` is not a finite number; write a number such as 1.5")
    return number
