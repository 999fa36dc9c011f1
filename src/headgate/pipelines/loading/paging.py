"""Pagination of HTTP APIs: the next request follows from the last response."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from headgate.pipelines.definitions.definition import StrictDefinition
from headgate.pipelines.load_errors import LoadError

Parameters = Mapping[str, str]


class _Sized(StrictDefinition):
    size: int | None = Field(default=None, ge=1, le=1_000_000, description="the number of records to request per page")
    size_parameter: str = Field(default="limit", min_length=1)

    def build_size_parameter(self) -> dict[str, str]:
        """Return the parameter for the page size; empty if no size is set."""
        return {} if self.size is None else {self.size_parameter: str(self.size)}


class NumberedPages(_Sized):
    """Pagination by page number. It ends at the first page without records."""

    by: Literal["page"]
    parameter: str = Field(default="page", min_length=1)
    first: int = Field(default=1, ge=0)


class OffsetPages(_Sized):
    """Pagination by the offset of a page's first record. It ends at the first page without records."""

    by: Literal["offset"]
    parameter: str = Field(default="offset", min_length=1)


class CursorPages(_Sized):
    """Pagination by a cursor in each response. It ends with the first response without a cursor."""

    by: Literal["cursor"]
    parameter: str = Field(default="cursor", min_length=1)
    next: str = Field(pattern=r"^/.+$", description="a JSON pointer to the cursor in the response")


class LinkedPages(_Sized):
    """Pagination by the `next` address in each response's Link header."""

    by: Literal["link"]


PagingRule = Annotated[NumberedPages | OffsetPages | CursorPages | LinkedPages, Field(discriminator="by")]


@dataclass(frozen=True, slots=True)
class PageRequest:
    """The request of one page: parameters for the stream's path, or the complete address from a response."""

    parameters: Parameters = field(default_factory=dict[str, str])
    address: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """One response: its document, the records in it, and the next page's address in its Link header."""

    document: Any
    records: Sequence[Any]
    link: str | None = None


def first_request(pages: PagingRule | None, parameters: Parameters) -> PageRequest:
    """Return the request of the first page."""
    match pages:
        case NumberedPages():
            begins = {pages.parameter: str(pages.first)}
        case OffsetPages():
            begins = {pages.parameter: "0"}
        case _:
            begins = {}
    return PageRequest({**parameters, **(pages.build_size_parameter() if pages else {}), **begins})


def next_request(pages: PagingRule | None, asked: PageRequest, answer: Answer, so_far: int) -> PageRequest | None:
    """Return the request of the next page, or None. `so_far` counts the records of all responses, including this one.

    The requested page size is not considered: an API may return fewer records on every page.
    """
    match pages:
        case NumberedPages() if answer.records:
            return _with(asked, pages.parameter, str(int(asked.parameters[pages.parameter]) + 1))
        case OffsetPages() if answer.records:
            return _with(asked, pages.parameter, str(so_far))
        case CursorPages():
            found = resolve_pointer(answer.document, pages.next)
            return None if found in (None, "", False) else _with(asked, pages.parameter, str(found))
        case LinkedPages() if answer.link:
            return PageRequest(address=answer.link)
        case _:
            return None


def require_records(document: Any, pointer: str) -> Sequence[Any]:
    """Return the records of a response. Raises `LoadError` if there is no list of objects at the pointer."""
    found = resolve_pointer(document, pointer)
    place = f"at `{pointer}`" if pointer else "at its top level"
    if not isinstance(found, list):
        raise LoadError(
            f"the response of the API has no list {place}; set `records` to a JSON pointer to the list of records"
        )
    wrong = next((each for each in found if not isinstance(each, dict)), None)
    if wrong is not None:
        raise LoadError(
            f"the list {place} of the response has a record that is not an object; set `records` to a JSON pointer to a "
            "list of objects"
        )
    return found


def resolve_pointer(document: Any, pointer: str) -> Any:
    """Return the value at a JSON pointer (RFC 6901), or None if there is none."""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict):
            document = document.get(key)
        elif isinstance(document, list) and key.isdecimal() and int(key) < len(document):
            document = document[int(key)]
        else:
            return None
    return document


def _with(asked: PageRequest, parameter: str, value: str) -> PageRequest:
    return PageRequest({**asked.parameters, parameter: value})
