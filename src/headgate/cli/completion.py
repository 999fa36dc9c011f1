"""Completion of names in a shell, which asks the API and completes nothing on any failure."""

import re
from collections.abc import Callable

import httpx

from headgate.cli.client import configured_url, stored_credential

_WAIT = 1.0
"""Seconds that the API has to answer; a shell waits for the completion."""

_NAMES = 100
"""The most names that a shell gets."""

_LITERAL = re.compile(r"[\w./@+][\w./@+-]*")
"""A name that a shell reads as one literal word. Shells evaluate completions, and other users choose the names."""


def _complete_from(*lists: str) -> Callable[[str], list[str]]:
    """Return a callback that completes the names of these lists of the API."""

    def complete(incomplete: str) -> list[str]:
        found = {name for path in lists for name in _ask_names(path, incomplete)}
        return sorted(name for name in found if name.startswith(incomplete) and _LITERAL.fullmatch(name))

    return complete


def _ask_names(path: str, incomplete: str) -> list[str]:
    """Return the names in a list that contain a text; none on any failure."""
    try:
        answer = httpx.get(
            f"{configured_url()}/api/v1{path}",
            params={"limit": _NAMES, **({"q": incomplete} if incomplete else {})},
            headers={"authorization": f"Bearer {stored_credential()[0]}"},
            timeout=_WAIT,
        )
        return [str(each["name"]) for each in answer.raise_for_status().json()["items"]]
    except Exception:  # noqa: BLE001 (a message would end up in the line that the user writes)
        return []


complete_resource = _complete_from("/resources")
complete_principal = _complete_from("/users", "/service-principals")
complete_user = _complete_from("/users")
complete_service_principal = _complete_from("/service-principals")
complete_subject = _complete_from("/users", "/service-principals", "/groups", "/teams")
complete_group = _complete_from("/groups")
complete_team = _complete_from("/teams", "/domains")
complete_role = _complete_from("/roles")
complete_pipeline = _complete_from("/pipelines")
complete_project = _complete_from("/projects")
complete_connection = _complete_from("/connections")
