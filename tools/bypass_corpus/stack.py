"""The embedded stack that the cases are tried on: the server, the fixture, and who tries them."""

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

from pyspark.sql.connect.session import SparkSession

from headgate.app.background import run_in_background
from headgate.app.server import Server
from headgate.app.settings.settings import default_settings
from headgate.facts.ids import RunId
from headgate.spark.sql.client import connect
from tools.bypass_corpus.cases import Case, Need
from tools.bypass_corpus.clients import Client
from tools.bypass_corpus.fixture import TABLES, Fixture
from tools.bypass_corpus.organization_setup import found_atomic, join
from tools.bypass_corpus.privileges import covers, everything, hold, meant
from tools.bypass_corpus.run_identity import begin
from tools.bypass_corpus.state import effects
from tools.bypass_corpus.verdicts import Asker, Attempt, Ending, Holds
from tools.bypass_corpus.victim_session import VictimSession

_VARIABLE = "DECLARE VARIABLE m DOUBLE"
_MENTIONED = re.compile(r"\bm\b")
_PATIENCE = 90.0
"""Seconds in which a driver that has ended is back."""
_ASKER, _ADMIN, _ALICE = "asker", "admin", "alice"


class StackError(Exception):
    """The cases cannot be tried here, so that no verdict would mean anything."""


class Stack:
    """A server of its own with the fixture on it, and somebody who holds what each attempt is to be made with."""

    def __init__(self, server: Server, client: Client) -> None:
        """Make the fixture. Raises `StackError` if nothing could be said about the cases here."""
        self._server = server
        self._control = server.deployment.home.control
        self._client = client
        self._tokens = {name: join(self._control, name) for name in (_ASKER, _ADMIN, _ALICE)}
        for name in (_ADMIN, _ALICE):
            hold(self._control, name, everything(self._control))
        self._fixture = Fixture(server.deployment, server.url, self._tokens[_ADMIN], self._make)
        self._state = self._fixture.restore()
        self.require_sound()

    @property
    def missing(self) -> tuple[str, ...]:
        """The parts of the fixture that could not be made."""
        return self._fixture.missing

    @property
    def folders(self) -> Mapping[Path, str]:
        """Where each table's files lie, and its full name."""
        return self._fixture.folders()

    @property
    def driver_log(self) -> Path:
        """The log of the driver."""
        return self._server.deployment.settings.folder / "logs" / "driver.log"

    def attempt(self, case: Case, asker: Asker) -> Attempt:
        """Try the case in a new session; afterwards the fixture is as before."""
        facts = self._control.snapshot
        if asker.lacks and covers(facts, asker.needs, asker.lacks):
            return Attempt(asker, Ending.COVERED)
        held = everything(self._control) if asker.holds is Holds.EVERYTHING else meant(facts, asker.needs)
        hold(self._control, _ASKER, held)
        # Only the revision: whatever else moved since the last case came of that, and shows up as this one's.
        self._state = replace(self._state, revision=self._control.snapshot.revision)
        return self._attempted(case, asker)

    def grant(self, needs: Iterable[Need]) -> None:
        """Let the asker hold exactly this from now on, whatever their sessions hold."""
        hold(self._control, _ASKER, meant(self._control.snapshot, needs))

    def connect(self) -> SparkSession:
        """Return a new session of the asker's. Whoever opens it stops it."""
        return connect(self._server.gateway_port, self._tokens[_ASKER])

    def begin_run(self, run: RunId, inputs: Sequence[str], into: str) -> SparkSession:
        """Return a session of a run that declares this, of somebody who holds everything. Whoever opens it stops it."""
        hold(self._control, _ASKER, everything(self._control))
        session = connect(self._server.gateway_port, begin(self._control, run, _ASKER, inputs, into))
        self._state = replace(self._state, revision=self._control.snapshot.revision)
        return session

    def settle(self) -> tuple[str, ...]:
        """Return what has changed since this was asked last, with the fixture restored."""
        changed = self._settle()
        self._state = replace(self._state, revision=self._control.snapshot.revision)
        return changed

    def remake(self, table: str) -> None:
        """Drop a table of the fixture, and make it again under the same name."""
        self._state = self._fixture.remake(table)

    def require_sound(self) -> None:
        """Raise `StackError` unless a refusal here is one of the case and not of everything that anybody asks."""
        nobody = Case("", "sql", "SELECT 1", ())
        self._require(self.attempt(nobody, Asker(Holds.NOTHING)), nobody)
        for table in TABLES:
            read = Case("", "sql", f"TABLE {table}", (("read", table),))
            self._require(self.attempt(read, Asker(Holds.NEEDS, read.needs)), read)

    def _require(self, attempt: Attempt, case: Case) -> None:
        if attempt.ending is not Ending.SERVED:
            ended = f"`{case.statement}` was {attempt.ending.value} with {attempt.asker}: {attempt.message}"
            raise StackError(f"the stack is not sound: {ended}")

    def _attempted(self, case: Case, asker: Asker) -> Attempt:
        if not case.is_spoofing:
            return Attempt(asker, *self._try(_ASKER, case), self._settle())
        with VictimSession(self._server, self._tokens[_ALICE], case) as alice:
            ending, message = self._try(_ASKER, case, alice.seen())
            return Attempt(asker, ending, message, self._settle(), alice.harm(message))

    def _try(self, name: str, case: Case, seen: Mapping[str, str] = MappingProxyType({})) -> tuple[Ending, str]:
        self._await_driver()
        declares = _MENTIONED.search(case.statement) and "DECLARE" not in case.statement.upper()
        return self._client.attempt(
            port=self._server.gateway_port,
            token=self._tokens[name],
            kind=case.kind,
            statement=case.statement,
            before=[_VARIABLE] if declares else [],
            seen=dict(seen),
        )

    def _make(self, statement: str) -> bool:
        return self._try(_ADMIN, Case("", "sql", statement, ()))[0] is Ending.SERVED

    def _settle(self) -> tuple[str, ...]:
        """Return what the case changed, with the fixture restored."""
        changed = effects(self._state, self._fixture.state())
        if changed:
            self._state = self._fixture.restore()
        return changed

    def _await_driver(self) -> None:
        """Give the supervisor time to bring back a driver that a case has ended."""
        deadline = time.monotonic() + _PATIENCE
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
        found_atomic(settings)
        with (
            run_in_background(settings, lambda _: None) as server,
            Client(client_folder, folder / "client.log") as client,
        ):
            yield Stack(server, client)
