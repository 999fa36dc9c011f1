"""Responses: metadata in the specification's format, ETags, and paged lists."""

import base64
import binascii
import hashlib
import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import Response
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.view.metadata import ViewMetadata

from headgate.endpoints.iceberg_rest.errors import bad_request
from headgate.lake.metadata_files import LoadedTable
from headgate.lake.view_catalog import LoadedView

LOCATION = "headgate.location"
"""The configuration key with the location of the one table that Spark's file reader may open."""
SNAPSHOTS = ("all", "refs")
NOT_MODIFIED = 304


def table_answer(loaded: LoadedTable, *, guarded: bool, snapshots: str = "all") -> Response:
    """Return a table as the response to a load, create or commit."""
    metadata = loaded.metadata if snapshots == "all" else _referenced(loaded.metadata)
    location = loaded.pointer.metadata_location
    answer = _answer(location, metadata, _config(metadata.location, guarded=guarded))
    answer.headers["etag"] = metadata_etag(location, guarded=guarded, snapshots=snapshots)
    return answer


def staged_response(metadata: TableMetadata, *, guarded: bool) -> Response:
    """Return a staged table, which does not exist yet and has no metadata file."""
    return _answer(None, metadata, _config(metadata.location, guarded=guarded))


def view_answer(loaded: LoadedView) -> Response:
    """Return a view as the response to a load, create or commit."""
    return _answer(loaded.pointer.metadata_location, loaded.metadata, {})


def metadata_etag(metadata_location: str, *, guarded: bool, snapshots: str) -> str:
    """Return the ETag of a table's response; it changes with every commit, which writes a file with a new name."""
    said = json.dumps((metadata_location, guarded, snapshots))
    return f'"{hashlib.sha256(said.encode()).hexdigest()[:32]}"'


def is_current(if_none_match: str | None, version: str) -> bool:
    """Whether the client already has the version with this ETag."""
    known = [each.strip().removeprefix("W/") for each in (if_none_match or "").split(",")]
    return version in known or "*" in known


def page_of_names(names: Sequence[str], token: str | None, size: str | None) -> tuple[Sequence[str], Mapping[str, str]]:
    """Return one page of sorted names, and the fields of the response that lead to the next page.

    Without a size, all names are one page. The token contains the last name of the previous page, so that no name is
    repeated or skipped when other names are added or removed.
    """
    start = bisect_right(names, _last(token)) if token else 0
    if size is None:
        return names[start:], {}
    if not size.isdecimal() or not 0 < len(size) < 10 or int(size) == 0:  # noqa: PLR2004 (bounds the number's length)
        raise bad_request(
            "`pageSize` is not a whole number above 0, or has too many digits; send a smaller whole number above 0"
        )
    found = names[start : start + int(size)]
    more = start + len(found) < len(names)
    return found, {"next-page-token": base64.urlsafe_b64encode(found[-1].encode()).decode()} if more else {}


def _last(token: str) -> str:
    try:
        return base64.b64decode(token, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise bad_request("`pageToken` is not valid; send the `next-page-token` of the previous page") from error


def _config(location: str, *, guarded: bool) -> Mapping[str, str]:
    return {LOCATION: location} if guarded else {}


def _answer(location: str | None, metadata: TableMetadata | ViewMetadata, config: Mapping[str, str]) -> Response:
    fields: dict[str, Any] = {"config": config}
    if location is not None:
        fields["metadata-location"] = location
    # The metadata is JSON text already: parsing and serializing it again would take longer than all other steps.
    whole = metadata.model_dump_json(by_alias=True, exclude_none=True)
    return Response(f'{json.dumps(fields)[:-1]}, "metadata": {whole}}}', media_type="application/json")


def _referenced(metadata: TableMetadata) -> TableMetadata:
    heads = {ref.snapshot_id for ref in metadata.refs.values()}
    kept = [snapshot for snapshot in metadata.snapshots if snapshot.snapshot_id in heads]
    return metadata.model_copy(update={"snapshots": kept})
