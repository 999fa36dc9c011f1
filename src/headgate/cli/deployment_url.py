"""The address of the deployment: as `HEADGATE_URL` has it, and why nothing answers there."""

import os
import re
from urllib.parse import unquote

import httpx

from headgate.app.settings.settings import HOST, default_settings
from headgate.cli.errors import ApiError

API = "/api/v1"
_SCHEMES = ("http://", "https://")
_ORGANIZATION = re.compile(r"(?<!/)/o/([^/]*)")
"""The organization in an address; not the host `o` of `http://o/`."""
_CAUSES = (
    ("refused", "the connection was refused"),
    ("Name or service not known", "the host name is unknown"),
    ("nodename nor servname", "the host name is unknown"),
    ("No address associated", "the host name is unknown"),
    ("name resolution", "the host name cannot be looked up"),
    ("CERTIFICATE_VERIFY_FAILED", "its certificate is not trusted here"),
    ("SSL", "it does not speak TLS: write `http://`"),
    ("disconnected", "it ended the connection; a server with TLS needs `https://`"),
    ("timed out", "it did not answer in time"),
)
"""What the errors of the network contain, and what that means."""


def configured_url() -> str:
    """Return the address as `HEADGATE_URL` has it, with an organization if it names one. Raises `ApiError` for a `HEADGATE_URL` that cannot be one."""
    named = os.environ.get("HEADGATE_URL", "").rstrip("/")
    if not named:
        return f"http://{HOST}:{default_settings(os.environ).api_port}"
    if not named.startswith(_SCHEMES):
        raise ApiError(f"`HEADGATE_URL` has no scheme; write `http://{named}` or `https://{named}`")
    if named.endswith(API):
        raise ApiError(f"`HEADGATE_URL` names the API's path, too; write `{named.removesuffix(API)}`")
    if organization_in_url(f"{named}/") == "":
        deployment = deployment_of(f"{named}/")
        raise ApiError(
            f"`HEADGATE_URL` names no organization behind `/o/`; write `{deployment}/o/NAME` or `{deployment}`"
        )
    return named


def deployment_address() -> str:
    """Return the address of the deployment without an organization."""
    return deployment_of(configured_url())


def deployment_of(address: str) -> str:
    """Return an address without the organization that it may name."""
    found = _ORGANIZATION.search(address)
    return address[: found.start()] if found else address


def organization_in_url(url: str) -> str | None:
    """Return the organization that an address names, empty for `/o/` without a name; None if it names none."""
    found = _ORGANIZATION.search(url)
    return unquote(found[1]) if found else None


def describe_unreachable(error: httpx.TransportError) -> str:
    """Return why no Headgate answers, where that was asked, and what to do."""
    said = str(error)
    if isinstance(error, httpx.TimeoutException):
        said = "timed out"
    cause = next((meant for sign, meant in _CAUSES if sign in said), said or type(error).__name__)
    return (
        f"no Headgate answers at `{_origin(error)}` ({cause}); start one with `headgate serve`, or name another in "
        "HEADGATE_URL"
    )


def _origin(error: httpx.TransportError) -> str:
    try:
        url = error.request.url
    except RuntimeError:
        return configured_url()
    return f"{url.scheme}://{url.netloc.decode('ascii')}"
