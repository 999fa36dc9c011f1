"""The embedded deployment for the cases: the server, the fixture, and the user that attempts them."""

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
"""The longest restart of a driver, in seconds."""
_ASKER, _ADMIN, _ALICE = "asker", "admin", "alice"


class StackError(Exception):
    """The cases cannot be attempted, so a verdict would mean nothing."""


class Stack:
    """A server with the fixture, and a user that gets the privileges of each attempt."""

    def __init__(self, server: Server, client: Client) -> None:
        """Create the fixture. Raises `StackError` if the cases cannot be attempted."""
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
        """The parts of the fixture that could not be created."""
        return self._fixture.missing

    @property
    def folders(self) -> Mapping[Path, str]:
        """The folder of each table -> its full name."""
        return self._fixture.folders()

    @property
    def driver_log(self) -> Path:
        """The log of the driver."""
        return self._server.deployment.settings.folder / "logs" / "driver.log"

    def attempt(self, case: Case, asker: Asker) -> Attempt:
        """Attempt the case in a new session, and restore the fixture after it."""
        facts = self._control.snapshot
        if asker.lacks and covers(facts, asker.needs, asker.lacks):
            return Attempt(asker, Ending.COVERED)
        held = everything(self._control) if asker.holds is Holds.EVERYTHING else meant(facts, asker.needs)
        hold(self._control, _ASKER, held)
        # Only the revision: other late changes of the last case must show up as effects, of this case.
        self._state = replace(self._state, revision=self._control.snapshot.revision)
        return self._attempted(case, asker)

    def grant(self, needs: Iterable[Need]) -> None:
        """Set the asker's privileges to exactly these; open sessions stay."""
        hold(self._control, _ASKER, meant(self._control.snapshot, needs))

    def connect(self) -> SparkSession:
        """Return a new session of the asker. The caller must stop it."""
        return connect(self._server.gateway_port, self._tokens[_ASKER])

    def begin_run(self, run: RunId, inputs: Sequence[str], into: str) -> SparkSession:
        """Return a session of a run with these declarations, whose run-as principal has all privileges. The caller must stop it."""
        hold(self._control, _ASKER, everything(self._control))
        session = connect(self._server.gateway_port, begin(self._control, run, _ASKER, inputs, into))
        self._state = replace(self._state, revision=self._control.snapshot.revision)
        return session

    def settle(self) -> tuple[str, ...]:
        """Return the changes since the last call, and restore the fixture."""
        changed = self._settle()
        self._state = replace(self._state, revision=self._control.snapshot.revision)
        return changed

    def remake(self, table: str) -> None:
        """Drop a table of the fixture, and create it again with the same name."""
        self._state = self._fixture.remake(table)

    def require_sound(self) -> None:
        """Raise `StackError` if the deployment also refuses statements that it must serve: then refusals of cases mean nothing."""
        nobody = Case("", "sql", "SELECT 1", ())
        self._require(self.attempt(nobody, Asker(Holds.NOTHING)), nobody)
        for table in TABLES:
            read = Case("", "sql", f"TABLE {table}", (("read", table),))
            self._require(self.attempt(read, Asker(Holds.NEEDS, read.needs)), read)

    def _require(self, attempt: Attempt, case: Case) -> None:
        if attempt.ending is not Ending.SERVED:
            ended = f"`{case.statement}` was {attempt.ending.value} with {attempt.asker}: {attempt.message}"
            raise StackError(f"the deployment is not ready for the cases: {ended}")

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
        """Return the effects of the case, and restore the fixture."""
        changed = effects(self._state, self._fixture.state())
        if changed:
            self._state = self._fixture.restore()
        return changed

    def _await_driver(self) -> None:
        """Wait until the supervisor has restarted a driver that a case has ended. Raises `StackError`."""
        deadline = time.monotonic() + _PATIENCE
        while self._server.health()["spark"] != "ready":
            if time.monotonic() > deadline:
                raise StackError("the Spark driver did not restart in time; see its log")
            time.sleep(0.1)


@contextmanager
def fresh_stack() -> Iterator[Stack]:
    """Serve a new deployment in a temporary folder, on free ports, until the block ends."""
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
