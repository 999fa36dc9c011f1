"""How an HTTP API is asked for one page after the other: what the next request is, told by the last answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from headgate.pipelines.definitions.definition import StrictDefinition
from headgate.pipelines.load_errors import LoadError

Parameters = Mapping[str, str]


class _Sized(StrictDefinition):
    size: int | None = Field(default=None, ge=1, le=1_000_000, description="how many records a page is asked to have")
    size_parameter: str = Field(default="limit", min_length=1)

    def build_size_parameter(self) -> dict[str, str]:
        """Return the parameter that says how large a page is to be, if any."""
        return {} if self.size is None else {self.size_parameter: str(self.size)}


class NumberedPages(_Sized):
    """Pages have numbers. The first page without a record is behind the last."""

    by: Literal["page"]
    parameter: str = Field(default="page", min_length=1)
    first: int = Field(default=1, ge=0)


class OffsetPages(_Sized):
    """A page begins at a record's number. The first page without a record is behind the last."""

    by: Literal["offset"]
    parameter: str = Field(default="offset", min_length=1)


class CursorPages(_Sized):
    """Each answer says what to ask for the next; nothing there, and it was the last."""

    by: Literal["cursor"]
    parameter: str = Field(default="cursor", min_length=1)
    next: str = Field(pattern=r"^/.+$", description="a JSON pointer into the answer")


class LinkedPages(_Sized):
    """Each answer names the address of the next in its Link header."""

    by: Literal["link"]


PagingRule = Annotated[NumberedPages | OffsetPages | CursorPages | LinkedPages, Field(discriminator="by")]


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One page to ask for: parameters of the stream's path, or the whole address that an answer named."""

    parameters: Parameters = field(default_factory=dict[str, str])
    address: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What came: the document, the records in it, and the address of the next page as the Link header has it."""

    document: Any
    records: Sequence[Any]
    link: str | None = None


def first_request(pages: PagingRule | None, parameters: Parameters) -> PageRequest:
    """Return what to ask for first."""
    match pages:
        case NumberedPages():
            begins = {pages.parameter: str(pages.first)}
        case OffsetPages():
            begins = {pages.parameter: "0"}
        case _:
            begins = {}
    return PageRequest({**parameters, **(pages.build_size_parameter() if pages else {}), **begins})


def next_request(pages: PagingRule | None, asked: PageRequest, answer: Answer, so_far: int) -> PageRequest | None:
    """Return what to ask for next, or None. `so_far` counts the records of all answers, this one's included.

    How many records were asked for tells nothing: an API may give fewer on every page.
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
    """Return the records of an answer. Raises `LoadError` if there is no list of objects."""
    found = resolve_pointer(document, pointer)
    place = f"at `{pointer}`" if pointer else "as its whole"
    if not isinstance(found, list):
        raise LoadError(f"the answer has no list {place}; `records` says where it is")
    wrong = next((each for each in found if not isinstance(each, dict)), None)
    if wrong is not None:
        raise LoadError(f"the list {place} of the answer holds something that is no object: a `{type(wrong).__name__}`")
    return found


def resolve_pointer(document: Any, pointer: str) -> Any:
    """Return what a JSON pointer (RFC 6901) leads to, or None if it leads nowhere."""
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
