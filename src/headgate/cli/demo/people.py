"""The four people of the demo, and the ways in which each of them comes through the endpoints."""

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
    """Who somebody is in the story, and what they hold: (role, resource)."""

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
    """An endpoint said no; the message is its own."""


class Person:
    """Somebody with a token: at the API, in Spark and at the REST catalog."""

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
        """Call the API; what is there already is as good. Raises `DemoError` for any other failure."""
        answer = self._http.request(method, path, json=body)
        if answer.status_code != httpx.codes.CONFLICT:
            _require_success(answer)

    @cached_property
    def spark(self) -> "SparkSession":
        """One live session through the stock Spark Connect client."""
        from headgate.spark.sql.client import connect

        return connect(self.spark_port, self.token)

    @cached_property
    def catalog(self) -> "Catalog":
        """The REST catalog through PyIceberg."""
        from pyiceberg.catalog import load_catalog

        return load_catalog("lake", type="rest", uri=f"{self._url}/iceberg", token=self.token)

    def close(self) -> None:
        """End the session, if there is one, and the connections."""
        if "spark" in self.__dict__:
            self.spark.stop()
        self._http.close()


def _require_success(answer: httpx.Response) -> None:
    if answer.is_error:
        request = answer.request
        raise DemoError(f"`{request.method} {request.url.path}` failed: {problem_of(answer)}")
