"""Open Policy Agent as a server."""

from collections import defaultdict
from typing import Any, ClassVar

from typing_extensions import override

from .engine import ChangingEngine, Check, List
from .oracle import Question
from .organization import LEVELS, Grant, Organization
from .server import Server, free_port, not_on_path, request

_POLICY = """
package headgate

subjects contains input.user

subjects contains group if some group in data.org.groups_of[input.user]

holds(table) if {
    some subject in subjects
    some place in [table, data.org.layer_of[table]]
    data.org.given_to[subject][place] >= input.level
}

default table := false

table if holds(input.resource)

default pipeline := false

pipeline if every table in data.org.touched[input.resource] { holds(table) }

batch := [allowed | some question in input.questions; allowed := data.headgate.table with input as question]

places contains place if {
    some subject in subjects
    some place, level in data.org.given_to[subject]
    level >= input.level
}

below(place) := data.org.tables_of[place]

below(place) := [place] if data.org.layer_of[place]

readable := [tables | some place in places; tables := below(place)]

holders contains subject if {
    some place in [input.resource, data.org.layer_of[input.resource]]
    some subject, level in data.org.given_on[place]
    level >= input.level
}

readers contains subject if {
    some subject in holders
    data.org.groups_of[subject]
}

readers contains user if {
    some subject in holders
    some user in data.org.members_of[subject]
}
"""


class OpaEngine(ChangingEngine):
    """The organization is a document, with an index for each direction of questions; the policy is Rego."""

    name: ClassVar[str] = "opa"

    @classmethod
    @override
    def missing(cls) -> str | None:
        """Return how to install the server, or None."""
        return not_on_path("opa", "github.com/open-policy-agent/opa")

    @classmethod
    @override
    def prepare(cls, organization: Organization) -> bytes:
        """Return the request that puts the document."""
        return request("PUT", "/v1/data/org", _document(organization))

    def __init__(self, organization: Organization) -> None:
        """Start an empty server."""
        super().__init__(organization)
        port = free_port()
        command = ("opa", "run", "--server", "--addr", f"127.0.0.1:{port}", "--log-level", "error")
        self._server = Server((*command, "--disable-telemetry"), port, "/health")

    @override
    def load(self, prepared: bytes) -> None:
        """Send the policy and the document."""
        self._server.send(request("PUT", "/v1/policies/headgate", _POLICY))
        self._server.send(prepared)

    @override
    def table(self, question: Question) -> Check:
        """Evaluate one rule."""
        return self._ask("table", question.user, question.level, question.resource)

    @override
    def pipeline(self, question: Question) -> Check:
        """Evaluate one rule, which uses `every`."""
        return self._ask("pipeline", question.user, question.level, question.resource)

    @override
    def readable(self, user: str) -> List:
        """Evaluate one rule; it returns a layer's tables as they are in the document, which is faster than one set of all."""
        ask = self._ask("readable", user, LEVELS[0], "")
        return lambda: set().union(*ask())

    @override
    def readers(self, table: str) -> List:
        """Evaluate one rule."""
        return self._ask("readers", "", LEVELS[0], table)

    @override
    def revoke(self, grant: Grant) -> Check:
        """Patch the document."""
        patch = request("PATCH", "/v1/data/org", [{"op": "remove", "path": path} for path in _paths(grant)])
        check = self._ask("table", grant.subject, LEVELS[0], grant.place)

        def call() -> bool:
            self._server.send(patch)
            return check()

        return call

    @override
    def restore(self, grant: Grant) -> None:
        """Undo the patch."""
        level = LEVELS.index(grant.level)
        patch = [{"op": "add", "path": path, "value": level} for path in _paths(grant)]
        self._server.send(request("PATCH", "/v1/data/org", patch))

    def _ask(self, rule: str, user: str, level: str, resource: str) -> Any:
        asked = self.asked(rule, Question(user, level, resource))
        return lambda: self._server.send(asked)["result"]

    def asked(self, rule: str, question: Question) -> bytes:
        """Return the request that evaluates a rule."""
        return request("POST", f"/v1/data/headgate/{rule}", {"input": self.input_of(question)})

    @staticmethod
    def input_of(question: Question) -> dict[str, Any]:
        """Return a question as input of the rules."""
        return {"user": question.user, "level": LEVELS.index(question.level), "resource": question.resource}

    @property
    def port(self) -> int:
        """The address of the server."""
        return self._server.port

    @property
    @override
    def process(self) -> int:
        """The process of the server."""
        return self._server.process

    @override
    def close(self) -> None:
        """Stop the server."""
        self._server.close()


def _paths(grant: Grant) -> tuple[str, str]:
    return f"/given_to/{grant.subject}/{grant.place}", f"/given_on/{grant.place}/{grant.subject}"


def _document(organization: Organization) -> dict[str, Any]:
    given_to: dict[str, dict[str, int]] = defaultdict(dict)
    given_on: dict[str, dict[str, int]] = defaultdict(dict)
    for grant in organization.grants:
        given_to[grant.subject][grant.place] = given_on[grant.place][grant.subject] = LEVELS.index(grant.level)
    tables_of: dict[str, list[str]] = defaultdict(list)
    for table, layer in organization.layer_of.items():
        tables_of[layer].append(table)
    return {
        "groups_of": organization.groups_of(),
        "members_of": organization.groups,
        "layer_of": organization.layer_of,
        "tables_of": tables_of,
        "touched": {pipeline: organization.touched(pipeline) for pipeline in organization.pipelines},
        "given_to": given_to,
        "given_on": given_on,
    }
