"""Headgate: AuthZEN for questions of an enforcement point with its own token; the API for grants."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlencode

import orjson
from typing_extensions import override

from bench.decision_engines.oracle import Question
from bench.decision_engines.organization import Grant, Organization
from bench.decision_engines.server import request
from bench.http_engines.case import Case, Exchange
from bench.http_engines.postgres import Postgres
from bench.http_engines.serving import Serving

_ROOT = Path(__file__).resolve().parents[2]
_ON_TABLE = {"viewer": "table.select", "editor": "table.insert"}
_ON_PIPELINE = {"viewer": "query.describe", "editor": "query.edit"}
_ONE, _MANY = "/access/v1/evaluation", "/access/v1/evaluations"


class HeadgateServing(Serving):
    """One embedded process: its store is SQLite."""

    name: ClassVar[str] = "headgate"

    def __init__(self, organization: Organization) -> None:
        """Start the server, which imports the organization."""
        self._folder = tempfile.TemporaryDirectory(prefix="headgate-http-")
        sizes = {
            kind: len(getattr(organization, kind)) for kind in ("users", "groups", "layers", "pipelines", "grants")
        }
        sizes["tables"] = len(organization.layer_of)
        module = ("-m", "bench.http_engines.headgate_server")
        self._process = subprocess.Popen(
            (sys.executable, *module, self._folder.name, self._store(), json.dumps(sizes)),
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        started = json.loads((self._process.stdout and self._process.stdout.readline()) or b"{}")
        if not started:
            raise RuntimeError(f"{self.name} did not start")
        self.port = int(started["port"])
        self._owner, self._enforcement = started["owner"], started["enforcement"]

    def _store(self) -> str:
        return ""

    @override
    def says(self, body: bytes) -> Any:
        """Return the decision, or the decisions; True for a write, whose response has its revision."""
        said = orjson.loads(body)
        if "evaluations" in said:
            return [each["decision"] for each in said["evaluations"]]
        return said.get("decision", True)

    @override
    def table(self, question: Question) -> bytes:
        """Evaluate once."""
        return self._ask(_ONE, _evaluation(question, "table", _ON_TABLE))

    @override
    def pipeline(self, question: Question, *, right: bool) -> Case:
        """Evaluate once: the model lets the weakest permission decide."""
        return Case((Exchange(self._ask(_ONE, _evaluation(question, "query", _ON_PIPELINE)), right),))

    @override
    def batch(self, questions: Sequence[Question]) -> bytes:
        """Send evaluations."""
        return self._ask(_MANY, {"evaluations": [_evaluation(each, "table", _ON_TABLE) for each in questions]})

    @override
    def revoke(self, grant: Grant) -> Case:
        """Delete the assignment."""
        named = {"subject": grant.subject, "role": grant.level, "resource": grant.place}
        delete = _as(self._owner, request("DELETE", f"/api/v1/assignments?{urlencode(named)}"))
        check = self.table(Question(grant.subject, "viewer", grant.place))
        return Case((Exchange(delete, right=True), Exchange(check, right=False)), (self.grant(grant),))

    @override
    def grant(self, grant: Grant) -> Exchange:
        """Post an assignment."""
        body = {"subject": grant.subject, "role": grant.level, "resource": grant.place}
        return Exchange(_as(self._owner, request("POST", "/api/v1/assignments", body)), right=True)

    def _ask(self, path: str, body: Any) -> bytes:
        return _as(self._enforcement, request("POST", path, body))

    @override
    def close(self) -> None:
        """Stop the server as Ctrl-C would, and delete its data."""
        self._process.communicate()
        self._folder.cleanup()


class HeadgateOnPostgres(HeadgateServing):
    """Headgate with PostgreSQL as its store: it reads the newest revision before each response."""

    name: ClassVar[str] = "headgate-pg"

    def __init__(self, organization: Organization) -> None:
        """Start PostgreSQL, then the server."""
        self._database = Postgres()
        try:
            super().__init__(organization)
        except BaseException:
            self._database.close()
            raise

    @classmethod
    @override
    def missing(cls) -> str | None:
        """Return that PostgreSQL is not installed, or None."""
        return Postgres.missing()

    @override
    def _store(self) -> str:
        return self._database.url

    @override
    def close(self) -> None:
        """Stop both servers."""
        super().close()
        self._database.close()


def _evaluation(question: Question, type: str, actions: dict[str, str]) -> dict[str, Any]:
    return {
        "subject": {"type": "user", "id": question.user},
        "action": {"name": actions[question.level]},
        "resource": {"type": type, "id": question.resource},
    }


def _as(token: str, sent: bytes) -> bytes:
    first, rest = sent.split(b"\r\n", 1)
    return b"%b\r\nAuthorization: Bearer %b\r\n%b" % (first, token.encode(), rest)
