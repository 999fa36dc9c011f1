"""Validation of metadata that PyIceberg builds or parses: all its errors become one kind of error."""

from collections.abc import Callable
from typing import TypeVar

import pydantic
from pyiceberg.exceptions import ValidationError

from headgate.control.text.validation_faults import first_fault
from headgate.lake.errors import InvalidMetadataError

T = TypeVar("T")


def require_valid(kind: str, make: Callable[[], T]) -> T:
    """Return the result of `make`: the metadata of a `kind`, such as `table`. Raises `InvalidMetadataError`."""
    try:
        return make()
    except pydantic.ValidationError as error:
        fault = first_fault(error.errors(), None)
        raise InvalidMetadataError(
            f"the {kind} metadata is not valid: {fault.sentence}; correct the metadata"
        ) from error
    except (ValidationError, ValueError, KeyError, TypeError) as error:
        raise InvalidMetadataError(f"the {kind} metadata is not valid: {error}; correct the metadata") from error
    except StopIteration as error:  # PyIceberg looks for the current schema and partition spec
        raise InvalidMetadataError(
            f"the {kind} metadata is not valid: it has no schema or partition spec with the current id; add them first"
        ) from error
    except AttributeError as error:  # PyIceberg takes a text for an object
        raise InvalidMetadataError(
            f"the {kind} metadata is not valid: a value has another JSON type than Iceberg's specification states; correct the metadata"
        ) from error
