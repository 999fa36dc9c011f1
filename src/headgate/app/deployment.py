"""One deployment, opened: the store, the core over it, and the first organization if there is none."""

import os
import secrets
import time
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from headgate.app.settings import Settings
from headgate.control.control import Control
from headgate.control.directory import Directory
from headgate.control.gate import Gate
from headgate.control.identity import Identity
from headgate.control.ids import new_id
from headgate.control.organizations import CreateOrganization
from headgate.control.ports import StoreError
from headgate.control.tokens import IssueToken, written
from headgate.control.wording import Wording
from headgate.decision.conditions import CONDITIONS
from headgate.facts.ids import PrincipalId, TokenId
from headgate.model.load import load_model
from headgate.model.model import Model
from headgate.model.vocabulary import load_actions
from headgate.pipelines.places import Places
from headgate.store import SqliteStore
from headgate.store.lock import FolderLock

HOME = "nekt"
"""The home model of an organization that is made without naming one."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """The core of a deployment, ready to be asked."""

    settings: Settings
    lock: FolderLock
    store: SqliteStore
    control: Control
    directory: Directory
    identity: Identity
    wording: Wording
    gate: Gate
    places: Places

    def close(self) -> None:
        """Let go of the store and of the data folder."""
        self.store.close()
        self.lock.close()


def open_deployment(settings: Settings) -> Deployment:
    """Open the data folder, for this process alone. Raises `StoreError` with what to do about it."""
    lock = FolderLock.take(settings.folder)
    try:
        store = SqliteStore.open(settings.folder)
    except BaseException:
        lock.close()
        raise
    control = Control(store, {HOME: shipped_model(HOME)}, time.time)
    directory = Directory(control, store)
    wording = Wording(directory)
    opened = Deployment(
        settings=settings,
        lock=lock,
        store=store,
        control=control,
        directory=directory,
        identity=Identity(control, store),
        wording=wording,
        gate=Gate(control, wording),
        places=Places(control, store, settings.folder),
    )
    if control.snapshot.organization is None:
        _found(opened)
    elif control.snapshot.model_hash != control.model.hash:
        opened.close()
        raise StoreError(
            f"the data folder `{settings.folder}` was made with another version of the model `{control.model.name}`; "
            "use the Headgate that made it, or choose another folder"
        )
    return opened


def shipped_model(name: str) -> Model:
    """Return a model of the package."""
    room = files("headgate.model")
    actions = load_actions(room.joinpath("actions.yaml").read_text(encoding="utf-8"))
    source = room.joinpath("models", f"{name}.yaml").read_text(encoding="utf-8")
    return load_model(source, actions, f"{name}.yaml", CONDITIONS)


def _found(opened: Deployment) -> None:
    """Make the organization and its owner, whose token is left in a file that only this user can read."""
    settings, control = opened.settings, opened.control
    owner = PrincipalId(new_id("p"))
    control.execute(CreateOrganization(owner, settings.owner, HOME), None)
    token, secret = TokenId(new_id("t")), secrets.token_urlsafe(32)
    control.execute(IssueToken(token, secret, owner, "first owner"), None)
    _write_private(settings.owner_token, written(token, secret))


def _write_private(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text + "\n")
