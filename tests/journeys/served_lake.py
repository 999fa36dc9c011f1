"""A served lake with Spark: its owner, a viewer of the database `raw`, and statements on it."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyspark.errors import PySparkException
from pyspark.sql.connect.session import SparkSession

from headgate.app.background import run_in_background
from headgate.app.settings.settings import Settings
from headgate.cli.demo.people import Person, Persona
from headgate.spark.toolchain.prepare import default_cache

MERGE_ON_READ = ", ".join(f"'write.{each}.mode' = 'merge-on-read'" for each in ("delete", "update", "merge"))


@dataclass(frozen=True, slots=True)
class ServedLake:
    """The owner, a viewer of `raw`, and the address of the catalog."""

    owner: Person
    viewer: Person
    url: str

    def rest(self, method: str, path: str, body: Any = None) -> httpx.Response:
        """Send one request of the owner to the Iceberg REST catalog."""
        headers = {"Authorization": f"Bearer {self.owner.token}"}
        return httpx.request(method, f"{self.url}/iceberg/v1{path}", json=body, headers=headers, timeout=60)

    def metadata(self, table: str) -> dict[str, Any]:
        """Return the metadata of a table of `raw` that the Iceberg REST catalog returns to the owner."""
        found: dict[str, Any] = self.rest("GET", f"/namespaces/raw/tables/{table}").json()["metadata"]
        return found

    def pyiceberg(self) -> RestCatalog:
        return RestCatalog("lake", uri=f"{self.url}/iceberg", token=self.owner.token)


@contextmanager
def serve_lake(folder: Path) -> Iterator[ServedLake]:
    """Serve a new deployment on free ports, with its data in the folder."""
    with run_in_background(Settings(folder, default_cache({}), None, api_port=0, gateway_port=0), print) as server:

        def person(name: str, token: str) -> Person:
            return Person(Persona(name, "", ()), token, server.url, server.gateway_port)

        with closing(person("owner", server.settings.owner_token.read_text(encoding="utf-8").strip())) as owner:
            owner.call("POST", "/users", {"name": "viewer"})
            token = owner.call("POST", "/tokens", {"principal": "viewer"})["token"]
            owner.call("POST", "/databases", {"name": "raw"})
            owner.call("POST", "/assignments", {"subject": "viewer", "role": "viewer", "resource": "lake.raw"})
            with closing(person("viewer", token)) as viewer:
                yield ServedLake(owner, viewer, server.url)


def run(spark: SparkSession, *statements: str) -> None:
    """Run statements in their order."""
    for statement in statements:
        spark.sql(statement).collect()


def rows_of(spark: SparkSession, statement: str) -> list[tuple[Any, ...]]:
    return [tuple(each) for each in spark.sql(statement).collect()]


def refused_state(spark: SparkSession, statement: str) -> str | None:
    """Return the SQL state of a statement that must fail."""
    with pytest.raises(PySparkException) as raised:
        spark.sql(statement).collect()
    return raised.value.getSqlState()
