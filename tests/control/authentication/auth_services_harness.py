"""A deployment with its own log and its logins, over a store in memory, with a clock that the test sets."""

from dataclasses import replace
from typing import Any

from headgate.control.authentication.settings import Hashing, LoginSettings
from headgate.control.authentication.users import UserAccounts
from headgate.control.control import Control
from headgate.control.models.library import FixedModels
from headgate.control.models.shipped_models import shipped_model
from headgate.control.organizations.commands import DEPLOYMENT, CreateDeployment
from headgate.facts.ids import PrincipalId
from tests.control.organization_harness import MODELS
from tests.fakes.store import FakeStores

FAST = Hashing(time=1, memory=8, lanes=1)
PASSWORD = "correct horse battery"  # noqa: S105 (a test secret)
HOME = {"address": "192.0.2.1", "agent": "a test"}


class Deployment:
    """The deployment's log and its logins; `replica` returns those of another process on the same store."""

    def __init__(self, **settings: Any) -> None:
        self.now = 1_000.0
        self.settings = replace(LoginSettings(hashing=FAST), **settings)
        self.stores = FakeStores()
        self.store = self.stores.log(DEPLOYMENT)
        self.control = self.opened()
        self.control.execute(CreateDeployment(shipped_model("nekt")), None)
        self.logins = self.replica(self.control)

    def opened(self) -> Control:
        return Control(self.store, FixedModels(MODELS), lambda: self.now)

    def replica(self, control: Control | None = None) -> UserAccounts:
        return UserAccounts(control or self.opened(), self.store, self.settings)

    def user(self, name: str, **more: Any) -> PrincipalId:
        return self.logins.register(name, password=PASSWORD, **more)
