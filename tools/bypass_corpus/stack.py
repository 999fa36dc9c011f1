"""The embedded stack that the cases are tried on: the server, the fixture, and who tries them."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from headgate.app.background import running
from headgate.app.server import Server
from headgate.app.settings import default_settings
from tools.bypass_corpus.alice import Alice
from tools.bypass_corpus.cases import Case
from tools.bypass_corpus.clients import Client
from tools.bypass_corpus.fixture import TABLES, Fixture
from tools.bypass_corpus.judgement import Attempt, Ending, Who
from tools.bypass_corpus.state import effects

_VARIABLE = "the session variable m"
_EXTRAS = {
    "the view trusted.v": "CREATE VIEW lake.trusted.v AS SELECT carrier FROM lake.raw.flights",
    _VARIABLE: "DECLARE VARIABLE m DOUBLE",
}
"""The parts of the fixture that only Spark can make."""


class StackError(Exception):
    """The cases cannot be tried here, so that no verdict would mean anything."""


class Attempts(Protocol):
    """Whatever can try a case."""

    def attempt(self, case: Case, who: Who) -> Attempt:
        """Try the case as somebody and say what came of it."""
        ...


class Stack:
    """A server of its own with the fixture on it."""

    def __init__(self, server: Server, client: Client, fixture: Fixture) -> None:
        self._server = server
        self._client = client
        self._fixture = fixture
        fixture.restore()
        self._tokens: Mapping[Who, str] = {
            Who.NOBODY: _add(fixture, "nobody", "member"),
            Who.EVERYTHING: _add(fixture, "everything", "owner"),
        }
        self._alice_token = _add(fixture, "alice", "owner")
        self.missing: tuple[str, ...] = ()
        self.missing = self._make_extras()
        self._state = fixture.state()
        self.require_sound()

    def attempt(self, case: Case, who: Who) -> Attempt:
        """Try the case in a new session; afterwards the fixture is as before."""
        if case.is_spoofing:
            with Alice(self._server, self._alice_token) as alice:
                ending, message = self._try(case, who, alice.seen())
                return Attempt(who, ending, message, self._settle(), alice.harm())
        ending, message = self._try(case, who, {})
        return Attempt(who, ending, message, self._settle())

    def require_sound(self) -> None:
        """Raise `StackError` unless a refusal here is one of the case and not of everything that anybody asks."""
        self._require("nobody can ask for what needs nothing", Who.NOBODY, "SELECT 1")
        for table in TABLES:
            self._require("somebody reads every table", Who.EVERYTHING, f"TABLE {table}")

    def _try(self, case: Case, who: Who, seen: Mapping[str, str]) -> tuple[Ending, str]:
        self._await_driver()
        mentions = case.kind == "sql" and " m " in case.statement and "DECLARE" not in case.statement
        return self._client.attempt(
            port=self._server.gateway_port,
            token=self._tokens[who],
            kind=case.kind,
            statement=case.statement,
            before=[_EXTRAS[_VARIABLE]] if mentions and _VARIABLE not in self.missing else [],
            seen=dict(seen),
        )

    def _settle(self) -> tuple[str, ...]:
        """Return what the case changed, with the fixture restored."""
        changed = effects(self._state, self._fixture.state())
        if changed:
            self._state = self._fixture.restore()
        return changed

    def _make_extras(self) -> tuple[str, ...]:
        return tuple(
            what for what, statement in _EXTRAS.items() if self._ask(Who.EVERYTHING, statement)[0] is not Ending.SERVED
        )

    def _require(self, what: str, who: Who, statement: str) -> None:
        ending, message = self._ask(who, statement)
        if ending is not Ending.SERVED:
            raise StackError(f"the stack is not sound: {what}, but `{statement}` was {ending.value}: {message}")

    def _ask(self, who: Who, statement: str) -> tuple[Ending, str]:
        return self._try(Case("", "sql", statement, ()), who, {})

    def _await_driver(self) -> None:
        """Give the supervisor time to bring back a driver that a case has ended."""
        deadline = time.monotonic() + 90
        while self._server.health()["spark"] != "ready":
            if time.monotonic() > deadline:
                raise StackError("the driver does not come back")
            time.sleep(0.1)


@contextmanager
def fresh_stack() -> Iterator[Stack]:
    """Serve a new stack in a temporary folder, on free ports, until the block ends."""
    with TemporaryDirectory(prefix="headgate-bypass-") as name:
        folder = Path(name).resolve()
        client_folder = folder / "client"
        client_folder.mkdir()
        settings = replace(default_settings({}), folder=folder / "data", api_port=0, gateway_port=0)
        with running(settings, lambda _: None) as server:
            fixture = Fixture(server.deployment, server.url, settings.owner_token.read_text(encoding="utf-8").strip())
            with Client(client_folder, folder / "client.log") as client:
                yield Stack(server, client, fixture)
            fixture.close()


def _add(fixture: Fixture, name: str, role: str) -> str:
    fixture.call("POST", "/users", {"name": name, "role": role})
    return fixture.call("POST", "/tokens", {"principal": name, "label": "bypass", "days": 1})["token"]
