"""Secrets of runs: valid for every process during an attempt, and invalid as soon as it ends."""

import pytest

from headgate.control.authentication.authenticator import Authenticator, format_run_secret
from headgate.control.control import Control
from headgate.control.identity.authenticated_principal import AuthenticatedPrincipal
from headgate.control.kernel.run_queue import RunRow
from headgate.control.kernel.stores import Stores
from headgate.control.models.library import FixedModels
from headgate.control.pipelines.runs import CancelRun, EndRun, ReclaimRun, StartRun
from headgate.facts.ids import ResourceId, RunId
from tests.fakes.runs import there
from tests.fakes.small_organization import ADMIN, DELAYS, MODELS, PEOPLE, THINGS
from tests.fakes.store import FakeStores

ROOT, RUN = ResourceId("organization"), RunId("run.of-1")


class Attempts:
    """One run of `admin`'s pipeline in a store that two processes share, with a clock that the test sets."""

    def __init__(self) -> None:
        self.stores = FakeStores()
        self.store = self.stores.log(ROOT)
        self.store.write(*PEOPLE, *THINGS)
        self.now = 1000.0
        self.control = Control(self.store, FixedModels(MODELS), lambda: self.now)
        self.store.queue[RUN] = RunRow(RUN, DELAYS, "queued", "manual", None, 1.0, 1.0)

    def begin(self, secret: str) -> str:
        self.control.execute(StartRun(there(self.store, RUN), "w", self.now + 20, secret), None)
        return format_run_secret(RUN, secret)


def known(stores: Stores, token: str) -> AuthenticatedPrincipal | None:
    """Return the principal of the token in another process, which has not authenticated it before."""
    return Authenticator(stores, lambda _: None).authenticate(token)


def test_a_run_secret_authenticates_the_run_as_principal_in_every_process() -> None:
    attempts = Attempts()
    token = attempts.begin("s1")

    assert known(attempts.stores, token) == AuthenticatedPrincipal(ADMIN, ROOT, run=RUN)
    assert Authenticator(attempts.stores, lambda _: None).cached(token) is None


@pytest.mark.parametrize(
    "token", ["hgr", "hgr.", "hgr.run.of-1", "hgr.run.of-1.", "hgr.run.of-1.other", "hgr.other.s1", "hgr..s1"]
)
def test_an_invalid_run_secret_authenticates_no_principal(token: str) -> None:
    attempts = Attempts()
    attempts.begin("s1")

    assert known(attempts.stores, token) is None


def test_a_run_secret_is_refused_as_soon_as_its_attempt_ends() -> None:
    attempts = Attempts()
    identity = Authenticator(attempts.stores, lambda _: None)
    for end in (
        lambda: EndRun(there(attempts.store, RUN), "queued"),
        lambda: ReclaimRun(there(attempts.store, RUN)),
        lambda: CancelRun(there(attempts.store, RUN)),
    ):
        token = attempts.begin(f"s{attempts.now:.0f}")
        assert identity.authenticate(token)
        attempts.now += 30
        attempts.control.execute(end(), None)
        assert identity.authenticate(token) is None


def test_reclaiming_a_run_revokes_the_secret_of_the_former_attempt() -> None:
    attempts = Attempts()
    former = attempts.begin("s1")
    attempts.now += 30
    attempts.control.execute(ReclaimRun(there(attempts.store, RUN)), None)
    newer = attempts.begin("s2")

    assert (known(attempts.stores, former), known(attempts.stores, newer)) == (
        None,
        AuthenticatedPrincipal(ADMIN, ROOT, run=RUN),
    )
