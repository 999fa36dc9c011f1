"""Wires the authentication services of a deployment together."""

from dataclasses import dataclass

from headgate.control.authentication.client_credentials import AccessTokens
from headgate.control.authentication.device_flow import DeviceFlow
from headgate.control.authentication.federation import ExternalIdentities
from headgate.control.authentication.invitations import Invitations
from headgate.control.authentication.settings import LoginSettings
from headgate.control.authentication.users import UserAccounts
from headgate.control.organizations.organization import Organizations


@dataclass(frozen=True, slots=True)
class AuthServices:
    """The authentication services of a deployment."""

    authentication: UserAccounts
    devices: DeviceFlow
    access_tokens: AccessTokens
    invitations: Invitations
    outsiders: ExternalIdentities

    def tidy(self) -> None:
        """Erase expired secrets. To be called now and then: expired secrets are refused without it too."""
        self.authentication.sessions.tidy()
        self.devices.tidy(self.authentication.now)
        self.access_tokens.tidy()
        self.invitations.tidy()


def open_auth_services(organizations: Organizations, settings: LoginSettings) -> AuthServices:
    """Return the authentication services of a deployment, over its logs."""
    store, control = organizations.deployment.store, organizations.deployment.control
    known = UserAccounts(control, store, settings)
    provider = settings.provider
    return AuthServices(
        authentication=known,
        devices=DeviceFlow(store, known.sessions, settings),
        access_tokens=AccessTokens(organizations, settings.access_token),
        invitations=Invitations(organizations, settings.invitation),
        outsiders=ExternalIdentities(control, store, provider.join if provider else frozenset()),
    )
