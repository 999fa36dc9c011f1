"""The four people of the demo, and the clients by which each of them uses the endpoints."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import httpx

from headgate.cli.client import problem_of
from headgate.cli.demo.data import DemoError

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyspark.sql.connect.session import SparkSession


@dataclass(frozen=True, slots=True)
class Persona:
    """A person of the demo as it is scripted: name, title, and the roles held, as (role, resource)."""

    name: str
    what: str
    holds: tuple[tuple[str, str], ...]


PARTS = (
    Persona("ada", "owner", ()),
    Persona("ed", "editor", (("editor", "lake.raw"), ("editor", "lake.trusted"), ("connection_user", "nycflights13"))),
    Persona("vic", "viewer", (("viewer", "lake.raw"), ("viewer", "lake.trusted"))),
    Persona("sam", "stranger", ()),
)


class AttemptRefusedError(Exception):
    """An endpoint refused an attempt; the message is the text of the refusal."""


class Person:
    """A person with a token, and clients of the API, Spark and the REST catalog that use it."""

    def __init__(self, part: Persona, token: str, url: str, spark_port: int) -> None:
        self.part = part
        self.name = part.name
        self.token = token
        self._url = url
        self.spark_port = spark_port
        self._http = httpx.Client(
            base_url=f"{url}/api/v1", headers={"authorization": f"Bearer {token}"}, timeout=120.0, trust_env=False
        )

    def call(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Call the API. Raises `AttemptRefusedError` for a refusal, `DemoError` for any other failure."""
        answer = self._http.request(method, path, json=body, params=query)
        if answer.status_code in (403, 404):
            raise AttemptRefusedError(answer.json()["detail"])
        _require_success(answer)
        return answer.json()

    def ensure(self, method: str, path: str, body: Any) -> None:
        """Call the API to create an object; one that exists already is accepted. Raises `DemoError` for any other failure."""
        answer = self._http.request(method, path, json=body)
        if answer.status_code != httpx.codes.CONFLICT:
            _require_success(answer)

    @cached_property
    def spark(self) -> "SparkSession":
        """A live session of the stock Spark Connect client."""
        from headgate.spark.sql.client import connect

        return connect(self.spark_port, self.token)

    @cached_property
    def catalog(self) -> "Catalog":
        """The client of the REST catalog: PyIceberg."""
        from pyiceberg.catalog import load_catalog

        return load_catalog("lake", type="rest", uri=f"{self._url}/iceberg", token=self.token)

    def close(self) -> None:
        """Close the Spark session, if one is open, and the HTTP connections."""
        if "spark" in self.__dict__:
            self.spark.stop()
        self._http.close()


def _require_success(answer: httpx.Response) -> None:
    if answer.is_error:
        request = answer.request
        raise DemoError(f"the demo's request `{request.method} {request.url.path}` failed: {problem_of(answer)}")
