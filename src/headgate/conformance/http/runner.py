"""Scenarios over HTTP: the world of a case is imported into a deployment, and the actor of the case asks its question there.

The endpoints are the real ones, on a loopback port; each case has its own deployment behind them. Only the secret identifies
the caller, and only the HTTP response counts as the answer.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import httpx
from fastapi import FastAPI

from headgate.app.deployment import open_deployment_over
from headgate.app.http.application import http_application
from headgate.app.http.in_process import serve_in_process
from headgate.app.settings.settings import DEFAULT_MODEL, default_settings
from headgate.conformance.errors import ScenarioError
from headgate.conformance.http.case_users import Bearer, CaseUsers, program
from headgate.conformance.http.routes import Call, call_for
from headgate.conformance.http.stores import CaseStores
from headgate.conformance.questions import Asked
from headgate.conformance.world import World
from headgate.control.authentication.authenticator import Authenticator
from headgate.control.kernel.parsing import JsonObject, entry
from headgate.control.kernel.ports import Head, LogWrite
from headgate.control.kernel.stores import Stores
from headgate.control.models.shipped_models import shipped_model
from headgate.control.organizations.audit_recorder import AuditRecorder
from headgate.control.organizations.commands import DEPLOYMENT
from headgate.endpoints.common.context import AppState
from headgate.endpoints.http.read_your_writes import FreshnessBarrier
from headgate.facts.ids import ResourceId
from headgate.spark.authority import PresentedCredential
from headgate.spark.sessions.registry import SparkRegistry
from headgate.spark.sql.statement_store import StatementStore
from headgate.spark.sql.statements import NOT_READY, Execution, SqlLimits, StatementError, StatementRequest
from headgate.store import open_stores

_MEMORY = ":memory:"
_PATIENCE = 60.0
"""Seconds until a request times out; on a busy machine a response may be slow."""
_REFUSALS = (401, 403, 404, 409, 422)
"""Status codes of a refusal: unauthenticated, forbidden, not visible, conflict, and invalid."""


class NoSpark:
    """The ports of Spark and of the run queue in a deployment that only decides: they execute nothing."""

    def begin(self, credential: PresentedCredential, wanted: StatementRequest) -> Execution:  # noqa: ARG002 (the arguments of the protocol)
        """Raise `StatementError`: there is no Spark."""
        raise StatementError(NOT_READY, None, "UNAVAILABLE")

    def close(self) -> None:
        """Do nothing: no session is open."""

    def wake(self) -> None:
        """Do nothing: no run is executed."""


class HttpScenarioRunner:
    """The HTTP endpoints, which serve the deployment of one case after another."""

    def __init__(self, app: FastAPI, http: httpx.Client) -> None:
        self.app = app
        self._http = http
        self._people: list[CaseUsers] = []
        self.confirmed = 0
        """The number of cases that the dry run of a route has confirmed."""
        self.unconfirmed = 0
        """The number of cases that only AuthZEN has answered."""

    def ask(self, world: World, asked: Sequence[Asked], ask: JsonObject) -> tuple[bool, ...]:
        """Ask the questions of a case, and return for each whether it is allowed.

        Raises `ScenarioError` for a response that is not a decision, or a dry run that disagrees.
        """
        if not asked:
            return ()
        people, log, caller = self._of(world), asked[0].log, asked[0].question.caller
        bearer = None if caller.principal in people and caller.token is None else program(world, log, caller)
        stores = CaseStores(people.stores, open_stores(_MEMORY))
        _import(stores, world, log, bearer)
        with closing(stores), closing(self._put(stores, people)):
            secret = bearer.secret if bearer else people.secret(caller.principal, self._log_in)
            said = entry(ask.get("with", {}))
            allowed = tuple(self._evaluate(secret, log, _evaluation(world, each, said)) for each in asked)
            is_route = "operation" not in ask and (bearer is None or bearer.itself)
            call = call_for(world, asked, said) if is_route else None
            if call is None:
                self.unconfirmed += 1
            else:
                self._confirm(secret, call, asked, allowed)
            return allowed

    def _of(self, world: World) -> CaseUsers:
        """Return the users of a world; all cases of a system share them."""
        found = next((each for each in self._people if each.users is world.users), None)
        if found is None:
            home, model = shipped_model(DEFAULT_MODEL), world.language.model
            found = CaseUsers(open_stores(_MEMORY), {home.model.name: home.model, model.name: model}, home, world)
            self._people.append(found)
        found.now = world.now
        return found

    def _put(self, stores: Stores, people: CaseUsers) -> AuditRecorder:
        """Install a deployment behind the endpoints; return its audit recorder, which must be closed after the case."""
        organizations, ways, audit = (
            people.organizations(stores),
            people.auth_services,
            AuditRecorder(stores, "changes"),
        )
        self.app.state.auth_services = ways
        self.app.state.deployed = AppState(
            organizations=organizations,
            identity=Authenticator(stores, ways.authentication.principal_of, ways.access_tokens.authenticate),
            audit=audit,
            runner=NoSpark(),
            statements=StatementStore(NoSpark(), SqlLimits()),
            health=dict,
        )
        return audit

    def _log_in(self, login: str, password: str) -> str:
        answer = self._http.post("/api/v1/login", json={"login": login, "password": password})
        return str(answer.raise_for_status().json()["session"])

    def _confirm(self, secret: str, call: Call, asked: Sequence[Asked], allowed: Sequence[bool]) -> None:
        """Compare the decisions with the dry run of a route. Raises `ScenarioError` if they differ."""
        log = asked[0].log
        expected = all(
            answer for each, answer in zip(asked, allowed, strict=True) if each.question.action in call.actions
        )
        answer = self._http.request(
            call.method,
            f"/o/{quote(log, safe='')}/api/v1{call.path}",
            params=call.query if call.method == "GET" else {**call.query, "dry_run": "true"},
            json=call.body or None,
            headers={"authorization": f"Bearer {secret}"},
        )
        if answer.is_success is not expected or not (answer.is_success or answer.status_code in _REFUSALS):
            raise ScenarioError(
                f"the dry run of `{call.method} {call.path}` answered {answer.status_code}: {answer.text}, but AuthZEN "
                f"answered {'allow' if expected else 'deny'}; this is a fault of Headgate: report it"
            )
        self.confirmed += 1

    def _evaluate(self, secret: str, log: ResourceId, body: Mapping[str, Any]) -> bool:
        path = f"/o/{quote(log, safe='')}/access/v1/evaluation"
        answer = self._http.post(path, json=body, headers={"authorization": f"Bearer {secret}"})
        if answer.status_code == httpx.codes.UNAUTHORIZED:
            return False
        if answer.status_code != httpx.codes.OK:
            raise ScenarioError(
                f"`{path}` answered {answer.status_code} instead of 200: {answer.text}; correct the case"
            )
        return bool(answer.json()["decision"])


def _import(stores: Stores, world: World, asked: ResourceId, bearer: Bearer | None) -> None:
    """Write the world into new logs, and the credentials of the sender into the log that is asked."""
    for log, changes in world.history.items():
        if log == DEPLOYMENT:
            raise ScenarioError(
                f"the world has an organization with the id `{log}`, which is reserved for the deployment; choose another id"
            )
        more = bearer if bearer and log == asked else None
        written = (*changes, *more.changes) if more else changes
        documents = more.documents if more else ()
        stores.log(log).append(Head(), LogWrite(world.now, None, "import", written, documents))


def _evaluation(world: World, asked: Asked, said: JsonObject) -> Mapping[str, Any]:
    """Return a question as an AuthZEN evaluation request."""
    question, facts = asked.question, world.facts(asked.log)
    caller, there = question.caller, facts.resources.get(question.resource)
    subject = caller.token or caller.principal
    return {
        "subject": {"type": world.types.get(subject, "user"), "id": subject},
        "action": {"name": question.action, "properties": said},
        "resource": {
            "type": there.type if there else question.action.partition(".")[0],
            "id": question.resource,
        },
    }


@contextmanager
def scenario_server() -> Iterator[HttpScenarioRunner]:
    """Serve the endpoints on loopback until the block ends."""
    with TemporaryDirectory(prefix="headgate-") as folder:
        deployment = open_deployment_over(default_settings({}, folder=Path(folder)), open_stores(_MEMORY))
        app = http_application(
            deployment,
            FreshnessBarrier(deployment.organizations),
            SparkRegistry(deployment.external_access_of),
            NoSpark(),
            NoSpark(),
            dict[str, Any],
        )
        with (
            closing(deployment),
            serve_in_process(app) as address,
            httpx.Client(base_url=address, timeout=_PATIENCE, trust_env=False) as http,
        ):
            yield HttpScenarioRunner(app, http)
