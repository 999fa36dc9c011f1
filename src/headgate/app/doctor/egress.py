"""Checks the egress policy: what connections may reach, for which organizations, and whether its folders can be used."""

import os
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from headgate.app.doctor.finding import Finding, warning
from headgate.app.doctor.ports import may_be_served
from headgate.app.settings.named_files import server_files
from headgate.app.settings.settings import Settings
from headgate.control.egress import EgressRules
from headgate.control.egress.policy import EGRESS_SETTING, EVERY_HOST
from headgate.control.kernel.ports import StoreError
from headgate.control.organizations.commands import DEPLOYMENT
from headgate.pipelines.connections.server_files import ServerFiles
from headgate.store.inspect import inspect_store

_WHAT = "egress"
_ELSEWHERE = ", by the settings of this shell; a running server may have others"


def egress(settings: Settings, environ: Mapping[str, str], _now: float) -> Iterator[Finding]:
    """Check each organization of the egress policy, and the folders of its rules."""
    listed = settings.egress.organizations
    where = _ELSEWHERE if may_be_served(settings) else ""
    if not listed:
        seen = f"connections may reach nothing: {EGRESS_SETTING} is not set, or its file lists no organization{where}"
        yield Finding(_WHAT, "ok", seen)
        return
    try:
        own = server_files(settings, environ)
    except StoreError:
        return  # another check reports that the URL of the store is invalid
    ids = _organizations(settings)
    for id, rules in listed.items():
        yield Finding(_WHAT, "ok", f"the connections of the organization `{id}` may reach {_count_rules(rules)}{where}")
        if ids is not None and id not in (EVERY_HOST, *ids):
            yield _unknown(id, ids)
        yield from _folders(id, rules, own)


def _organizations(settings: Settings) -> Sequence[str] | None:
    """Return the ids of the organizations; None if the store cannot be read or is empty, which another check reports."""
    try:
        seen = inspect_store(settings.store_url or settings.folder)
    except StoreError:
        return None
    return [tail.log for tail in seen.tails if tail.log != DEPLOYMENT] if seen.schema == seen.newest else None


def _unknown(id: str, ids: Sequence[str]) -> Finding:
    near = "".join(f" (did you mean `{each}`?)" for each in get_close_matches(id, ids, 1))
    do = "correct the id in the egress policy; `headgate organization list` shows the ids"
    return warning(_WHAT, f"no organization has the id `{id}`{near}, so its rules have no effect", do)


def _folders(id: str, rules: EgressRules, own: ServerFiles) -> Iterator[Finding]:
    for folder in map(Path, rules.folders):
        if fault := _fault(folder, own):
            yield warning(_WHAT, f"the folder `{folder}` of the organization `{id}` {fault[0]}", fault[1])


def _fault(folder: Path, own: ServerFiles) -> tuple[str, str] | None:
    """Return the fault of a listed folder and what to do about it; None if there is no fault."""
    # In Python 3.11 `Path.is_dir` raises an error below a folder that the user may not search.
    if not os.path.isdir(folder):  # noqa: PTH112
        return (
            "does not exist, or is not accessible",
            "create the folder, give this user access to it, or remove it from the egress policy",
        )
    if own.is_own(folder):
        return (
            "belongs to the server, so no connection may reach it",
            "remove the folder from the egress policy, or list another folder",
        )
    return None


def _count_rules(rules: EgressRules) -> str:
    parts = ((len(rules.folders), "folder"), (len(rules.hosts), "host"))
    return " and ".join(f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in parts)
