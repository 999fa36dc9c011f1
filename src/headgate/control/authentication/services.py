"""Every way into a deployment, wired together."""

from dataclasses import dataclass

from headgate.control.authentication.access_tokens import AccessTokens
from headgate.control.authentication.device_flow import Devices
from headgate.control.authentication.federated import Outsiders
from headgate.control.authentication.invitations import Invitations
from headgate.control.authentication.settings import LoginSettings
from headgate.control.authentication.users import Logins
from headgate.control.organizations.organization import Organizations


@dataclass(frozen=True, slots=True)
class Entrance:
    """What proves to a deployment who somebody is."""

    logins: Logins
    devices: Devices
    access_tokens: AccessTokens
    invitations: Invitations
    outsiders: Outsiders

    def tidy(self) -> None:
        """Erase what has ended by itself, now and then; nothing rests on it."""
        self.logins.sessions.tidy()
        self.devices.tidy(self.logins.now)
        self.access_tokens.tidy()
        self.invitations.tidy()


def open_entrance(organizations: Organizations, settings: LoginSettings) -> Entrance:
    """Return the ways into a deployment, over its logs."""
    store, control = organizations.deployment.store, organizations.deployment.control
    known = Logins(control, store, settings)
    provider = settings.provider
    return Entrance(
        logins=known,
        devices=Devices(store, known.sessions, settings),
        access_tokens=AccessTokens(organizations, settings.access_token),
        invitations=Invitations(organizations, settings.invitation),
        outsiders=Outsiders(control, store, provider.join if provider else frozenset()),
    )
