"""Telling another Iceberg catalog, a REST API, where a table's newest metadata lies."""

from headgate.control.error_text import visible_words
from headgate.pipelines.place import HttpPlace


class SyncError(Exception):
    """The other catalog did not take the table; the message says what it answered."""


def register(place: HttpPlace, into: str, metadata: str) -> None:
    """Make a table of the other catalog, called `database.table` there, that of this metadata file. Raises `SyncError`."""
    # Imported here: the server reads definitions at its start, and PyIceberg's client is for runs.
    from pyiceberg.catalog.rest import RestCatalog
    from pyiceberg.exceptions import RESTError

    database, table = into.split(".")
    headers = {f"header.{name}": value for name, value in place.headers.items()}
    try:
        with RestCatalog("other", uri=place.base_url, **headers) as other:
            other.create_namespace_if_not_exists(database)
            other.register_table((database, table), metadata, overwrite=other.table_exists((database, table)))
    except (RESTError, OSError, ValueError) as error:
        raise SyncError(f"the other catalog did not take `{into}`: {visible_words(error)}") from error
