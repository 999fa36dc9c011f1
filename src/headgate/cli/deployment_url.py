"""The URL of the deployment, from `HEADGATE_URL` or its default, and the reason why no server answers there."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

import httpx

from headgate.app.settings.settings import HOST, default_settings
from headgate.cli.errors import ApiError

API = "/api/v1"
DEMO_FOLDER = ".headgate-demo"
"""The data folder of `headgate demo`, unless `HEADGATE_DATA` or `--data` names another."""
_SCHEMES = ("http://", "https://")
_ORGANIZATION = re.compile(r"(?<!/)/o/([^/]*)")
"""The organization in a URL; not the host `o` of `http://o/`."""
_CAUSES = (
    ("refused", "the connection was refused"),
    ("Name or service not known", "the host name is unknown"),
    ("nodename nor servname", "the host name is unknown"),
    ("No address associated", "the host name is unknown"),
    ("name resolution", "the host name cannot be looked up"),
    ("CERTIFICATE_VERIFY_FAILED", "this machine does not trust its TLS certificate"),
    ("SSL", "it does not speak TLS: write `http://`"),
    ("disconnected", "it closed the connection; for a server with TLS write `https://`"),
    ("timed out", "it did not answer in time"),
)
"""Fragments of network errors, each with its meaning for the user."""


def configured_url() -> str:
    """Return the URL in `HEADGATE_URL`, with its organization if it names one, or the default on this machine.

    Raises `ApiError` for an invalid `HEADGATE_URL`.
    """
    named = os.environ.get("HEADGATE_URL", "").rstrip("/")
    if not named:
        return f"http://{HOST}:{default_settings(os.environ).api_port}"
    if not named.startswith(_SCHEMES):
        raise ApiError(f"`HEADGATE_URL` has no scheme; write `http://{named}` or `https://{named}`")
    if named.endswith(API):
        raise ApiError(f"`HEADGATE_URL` ends with the path of the API; write `{named.removesuffix(API)}`")
    if organization_in_url(f"{named}/") == "":
        deployment = deployment_of(f"{named}/")
        raise ApiError(
            f"`HEADGATE_URL` has no name of an organization after `/o/`; write `{deployment}/o/NAME` or `{deployment}`"
        )
    return named


def deployment_address() -> str:
    """Return the URL of the deployment without an organization."""
    return deployment_of(configured_url())


def deployment_of(address: str) -> str:
    """Return a URL without the organization that it may name."""
    found = _ORGANIZATION.search(address)
    return address[: found.start()] if found else address


def organization_in_url(url: str) -> str | None:
    """Return the organization that a URL names: empty for `/o/` without a name, None if there is no `/o/`."""
    found = _ORGANIZATION.search(url)
    return unquote(found[1]) if found else None


def describe_unreachable(error: httpx.TransportError) -> str:
    """Return which server does not answer, the cause, and what to do, as one sentence."""
    said = str(error)
    if isinstance(error, httpx.TimeoutException):
        said = "timed out"
    cause = next((meant for sign, meant in _CAUSES if sign in said), said or type(error).__name__)
    folder = demo_folder(os.environ)
    demo = f" (`headgate demo` for the data in `{folder}`)" if folder else ""
    return (
        f"no Headgate server answers at `{_origin(error)}` ({cause}); start it with `headgate serve`{demo}, or set "
        "HEADGATE_URL to the URL of another server"
    )


def demo_folder(environ: Mapping[str, str]) -> Path | None:
    """Return the demo's default data folder, if the working folder contains it and `HEADGATE_DATA` is not set."""
    folder = Path(DEMO_FOLDER)
    return folder if not environ.get("HEADGATE_DATA") and folder.is_dir() else None


def _origin(error: httpx.TransportError) -> str:
    try:
        url = error.request.url
    except RuntimeError:
        return configured_url()
    return f"{url.scheme}://{url.netloc.decode('ascii')}"
