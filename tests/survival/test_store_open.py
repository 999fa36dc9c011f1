"""Opening a log while another replica writes to it."""

import threading
from concurrent.futures import ThreadPoolExecutor

from headgate.control.models.library import FixedModels
from headgate.control.organizations.organization import Organizations
from headgate.decision.context import Models
from headgate.decision.engine.engine import Engine
from headgate.decision.evaluator import Answers
from headgate.facts.changes import RoleRevoked
from headgate.facts.snapshot import Snapshot
from tests.fakes import small_organization
from tests.fakes.store import FakeStores


class SlowEngine:
    """An engine factory that waits until `may_begin` is set."""

    def __init__(self) -> None:
        self.beginning = threading.Event()
        self.may_begin = threading.Event()

    def __call__(self, models: Models, facts: Snapshot) -> Answers:
        self.beginning.set()
        self.may_begin.wait()
        return Engine(models, facts)


def test_an_opened_log_is_as_new_as_the_latest_request_for_it() -> None:
    stores, slow = FakeStores(shared=True), SlowEngine()
    stores.log(small_organization.ROOT).write(*small_organization.PEOPLE, *small_organization.THINGS)
    organizations = Organizations(stores, FixedModels(small_organization.MODELS), lambda: small_organization.NOW, slow)

    def newest() -> int:
        organizations.refresh()
        return organizations.open(small_organization.ROOT).control.snapshot.revision

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(newest)
        slow.beginning.wait()
        stores.log(small_organization.ROOT).write(
            RoleRevoked(small_organization.ADMIN, "admin", small_organization.ROOT)
        )
        second = threads.submit(newest)
        # Long enough for the second request to look up the open logs.
        threading.Event().wait(0.2)
        slow.may_begin.set()

        assert second.result() == 2
        assert first.result() in (1, 2)
