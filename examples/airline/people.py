"""The people of the example: they call the API, save and run pipelines, and query Spark."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import yaml

from examples.airline.telling import REFUSED, Outcome, RefusedError

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

WITHIN = 300.0
"""Seconds that a run may take; generous, because machines are shared."""
_WAITING = ("queued", "running")


@dataclass(frozen=True)
class Person:
    """A user with a token of one organization; the name of the deployment's first organization is empty.

    `definitions` is the folder of the pipelines that the user saves.
    """

    name: str
    token: str
    organization: str
    url: str
    spark_port: int
    definitions: Path

    def call(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Call the API. Raises `RefusedError` for a refusal, `httpx.HTTPStatusError` for any other failure."""
        answer = self._http.request(method, path, json=body, params=query)
        if answer.status_code in (httpx.codes.FORBIDDEN, httpx.codes.NOT_FOUND):
            raise RefusedError(answer.json()["detail"])
        if answer.is_error:
            raise httpx.HTTPStatusError(answer.json()["detail"], request=answer.request, response=answer)
        return answer.json()

    def give(self, name: str, role: str, resource: str) -> str:
        """Assign a role."""
        self.call("POST", "/assignments", {"subject": name, "role": role, "resource": resource})
        return f"{name} holds {role} on {resource}"

    def take(self, name: str, role: str, resource: str) -> None:
        """Revoke a role."""
        self.call("DELETE", "/assignments", subject=name, role=role, resource=resource)

    def save(self, pipeline: str, changes: Mapping[str, Any] | None = None, place: str | None = None) -> str:
        """Save a pipeline's definition, optionally with changes, and optionally in a project or on a resource."""
        written = yaml.safe_load((self.definitions / f"{pipeline}.yaml").read_text(encoding="utf-8"))
        query = {"project": place} if place else {}
        self.call("PUT", f"/pipelines/{pipeline}", {**written, **(changes or {})}, **query)
        return f"its runs use the privileges of {self.name}"

    def start(self, pipeline: str) -> str:
        """Start a run and return its id."""
        return str(self.call("POST", f"/pipelines/{pipeline}/runs")["run"])

    def run(self, pipeline: str) -> Outcome:
        """Start a run and wait for its end."""
        return self.until_ended(self.start(pipeline))

    def until_ended(self, run: str) -> Outcome:
        """Wait for the end of a run."""
        return ended(self.until(run, lambda shown: shown["state"] not in _WAITING))

    def until(self, run: str, reached: Callable[[Mapping[str, Any]], Any]) -> Mapping[str, Any]:
        """Return a run once it satisfies the predicate. Raises `TimeoutError`."""
        shown: Mapping[str, Any] = self.awaited(lambda: self.call("GET", f"/runs/{run}"), reached)
        return shown

    def idle(self, pipeline: str) -> None:
        """Wait until no run of a pipeline is queued or running. Raises `TimeoutError`."""
        self.awaited(lambda: self._runs(pipeline), lambda runs: all(each["state"] not in _WAITING for each in runs))

    def first_run(self, pipeline: str, trigger: str) -> Mapping[str, Any]:
        """Return the first run of a pipeline with this trigger, once there is one. Raises `TimeoutError`."""

        def found() -> list[Mapping[str, Any]]:
            return [each for each in self._runs(pipeline) if each["trigger"] == trigger]

        return self.awaited(found, bool)[-1]

    def _runs(self, pipeline: str) -> list[Mapping[str, Any]]:
        return list(self.call("GET", "/runs", pipeline=pipeline)["items"])

    def awaited(self, look: Callable[[], Any], reached: Callable[[Any], Any]) -> Any:
        """Return the result of `look` once it satisfies the predicate. Raises `TimeoutError`."""
        deadline = time.monotonic() + WITHIN
        while not reached(seen := look()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"not as expected after {WITHIN:.0f} s: {seen}")
            time.sleep(0.2)
        return seen

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Return the rows of a statement. Raises `RefusedError`."""
        from pyspark.errors import PySparkException

        from headgate.control.text.error_text import REFUSED_STATE, visible_words

        try:
            return [tuple(row) for row in self.spark.sql(statement).collect()]
        except PySparkException as error:
            if error.getSqlState() == REFUSED_STATE or "PERMISSION_DENIED" in str(error):
                raise RefusedError(visible_words(error)) from error
            raise

    def value(self, statement: str) -> Any:
        """Return the only value of the only row."""
        ((value,),) = self.rows(statement)
        return value

    @cached_property
    def spark(self) -> "SparkSession":
        """A live session of the stock Spark Connect client."""
        from headgate.spark.sql.client import connect

        return connect(self.spark_port, self.token)

    @cached_property
    def _http(self) -> httpx.Client:
        known = {"authorization": f"Bearer {self.token}"}
        return httpx.Client(base_url=f"{self.url}/api/v1", headers=known, timeout=120.0, trust_env=False)

    def close(self) -> None:
        """End the session and the connections."""
        if "spark" in self.__dict__:
            self.spark.stop()
        self._http.close()


def ended(shown: Mapping[str, Any]) -> Outcome:
    """Return the outcome of a run, with the reason or the last line of its log."""
    return (
        Outcome(shown["state"], shown.get("why") or _last(shown))
        if shown["state"] != REFUSED
        else Outcome(REFUSED, " ".join(str(shown.get("why") or _last(shown)).split()))
    )


def _last(shown: Mapping[str, Any]) -> str:
    log = shown.get("log") or []
    return str(log[-1]["line"]) if log else str(shown.get("why", ""))
