"""OpenFGA as a server, with SQLite as its store.

Its store in memory searches all tuples for every read: a check took 59 ms on this organization, loading over a minute.
"""

import subprocess
import tempfile
from collections.abc import Iterator
from typing import Any, ClassVar

from typing_extensions import override

from .engine import ChangingEngine, Check, List
from .oracle import Question
from .organization import LEVELS, Grant, Organization
from .server import Server, free_port, not_on_path, request

_TUPLES_PER_WRITE = 5_000
_THIS: dict[str, Any] = {"this": {}}


class OpenFgaEngine(ChangingEngine):
    """Grants, memberships and the tree are tuples; a grant is a tuple for each level that it includes.

    With these tuples, a check reads a third of what it would read if the model stated which level includes which.
    """

    name: ClassVar[str] = "openfga"

    @classmethod
    @override
    def missing(cls) -> str | None:
        """Return how to install the server, or None."""
        return not_on_path("openfga", "github.com/openfga/openfga/cmd/openfga")

    @classmethod
    @override
    def prepare(cls, organization: Organization) -> list[dict[str, str]]:
        """Return the tuples."""
        return list(_tuples(organization))

    def __init__(self, organization: Organization) -> None:
        """Start an empty server."""
        super().__init__(organization)
        self._folder = tempfile.TemporaryDirectory()
        store = self._datastore(self._folder.name)
        subprocess.run(("openfga", "migrate", *store), check=True, capture_output=True)  # noqa: S607 - see `missing`
        port = free_port()
        self._server = Server(
            (
                *("openfga", "run", *store, "--log-level", "error"),
                *("--http-addr", f"127.0.0.1:{port}", "--grpc-addr", f"127.0.0.1:{free_port()}"),
                *("--playground-enabled=false", "--metrics-enabled=false"),
                *("--max-tuples-per-write", str(_TUPLES_PER_WRITE)),
                *("--listObjects-max-results", "0", "--listUsers-max-results", "0"),
                *self._more(),
                *("--request-timeout", "60s", "--listObjects-deadline", "60s", "--listUsers-deadline", "60s"),
            ),
            port,
            "/healthz",
        )

    def _datastore(self, folder: str) -> tuple[str, ...]:
        return "--datastore-engine", "sqlite", "--datastore-uri", f"file:{folder}/openfga.db"

    def _more(self) -> tuple[str, ...]:
        return ()

    @override
    def load(self, prepared: list[dict[str, str]]) -> None:
        """Create a store, write the model and then the tuples."""
        store = self._server.send(request("POST", "/stores", {"name": "organization"}))["id"]
        self._store = f"/stores/{store}"
        self._post("authorization-models", {"schema_version": "1.1", "type_definitions": _types()})
        for start in range(0, len(prepared), _TUPLES_PER_WRITE):
            self._post("write", {"writes": {"tuple_keys": prepared[start : start + _TUPLES_PER_WRITE]}})

    @override
    def table(self, question: Question) -> Check:
        """Check once."""
        asked = self.asked("check", {"tuple_key": self.key(question)})
        return lambda: self._server.send(asked)["allowed"]

    @override
    def pipeline(self, question: Question) -> Check:
        """Check each table until one is refused: a batch checks all of them, and took longer.

        A relation of OpenFGA means "any of", never "all of".
        """
        tables = self.organization.touched(question.resource)
        checks = [self.table(Question(question.user, question.level, table)) for table in tables]
        return lambda: all(check() for check in checks)

    @override
    def readable(self, user: str) -> List:
        """List objects."""
        asked = self.asked("list-objects", {"type": "table", "relation": LEVELS[0], "user": f"user:{user}"})
        return lambda: [each.removeprefix("table:") for each in self._server.send(asked)["objects"]]

    @override
    def readers(self, table: str) -> List:
        """List users."""
        object = {"type": "table", "id": table}
        body = {"object": object, "relation": LEVELS[0], "user_filters": [{"type": "user"}]}
        asked = self.asked("list-users", body)
        return lambda: [each["object"]["id"] for each in self._server.send(asked)["users"]]

    @override
    def revoke(self, grant: Grant) -> Check:
        """Delete the tuples of the grant."""
        delete = self.asked("write", {"deletes": {"tuple_keys": self.granted(grant)}})
        check = self.table(Question(grant.subject, LEVELS[0], grant.place))

        def call() -> bool:
            self._server.send(delete)
            return check()

        return call

    @override
    def restore(self, grant: Grant) -> None:
        """Write the tuples of the grant again."""
        self._post("write", {"writes": {"tuple_keys": self.granted(grant)}})

    @staticmethod
    def key(question: Question) -> dict[str, str]:
        """Return a question about a table as a tuple."""
        return {"user": f"user:{question.user}", "relation": question.level, "object": f"table:{question.resource}"}

    def granted(self, grant: Grant) -> list[dict[str, str]]:
        """Return the tuples of a grant."""
        return _granted(self.organization, grant)

    @property
    def port(self) -> int:
        """The address of the server."""
        return self._server.port

    def asked(self, path: str, body: Any) -> bytes:
        """Return a request about the store."""
        return request("POST", f"{self._store}/{path}", body)

    def _post(self, path: str, body: Any) -> Any:
        return self._server.send(self.asked(path, body))

    @property
    @override
    def process(self) -> int:
        """The process of the server."""
        return self._server.process

    @override
    def close(self) -> None:
        """Stop the server."""
        self._server.close()
        self._folder.cleanup()


def _types() -> list[dict[str, Any]]:
    subjects = [{"type": "user"}, {"type": "group", "relation": "member"}]
    given = {level: {"directly_related_user_types": subjects} for level in LEVELS}
    on_layer: dict[str, Any] = dict.fromkeys(LEVELS, _THIS)
    on_table = {level: {"union": {"child": [_THIS, _from_layer(level)]}} for level in LEVELS}
    return [
        {"type": "user"},
        _type("group", {"member": _THIS}, {"member": {"directly_related_user_types": [{"type": "user"}]}}),
        _type("layer", on_layer, given),
        _type(
            "table",
            {"layer": _THIS, **on_table},
            {"layer": {"directly_related_user_types": [{"type": "layer"}]}, **given},
        ),
    ]


def _type(name: str, relations: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    return {"type": name, "relations": relations, "metadata": {"relations": given}}


def _from_layer(level: str) -> dict[str, Any]:
    return {"tupleToUserset": {"tupleset": {"relation": "layer"}, "computedUserset": {"relation": level}}}


def _tuples(organization: Organization) -> Iterator[dict[str, str]]:
    for group, members in organization.groups.items():
        for user in members:
            yield {"user": f"user:{user}", "relation": "member", "object": f"group:{group}"}
    for table, layer in organization.layer_of.items():
        yield {"user": f"layer:{layer}", "relation": "layer", "object": f"table:{table}"}
    for grant in organization.grants:
        yield from _granted(organization, grant)


def _granted(organization: Organization, grant: Grant) -> list[dict[str, str]]:
    user = f"group:{grant.subject}#member" if grant.subject in organization.groups else f"user:{grant.subject}"
    place = f"{'table' if grant.place in organization.layer_of else 'layer'}:{grant.place}"
    included = LEVELS[: LEVELS.index(grant.level) + 1]
    return [{"user": user, "relation": level, "object": place} for level in included]
