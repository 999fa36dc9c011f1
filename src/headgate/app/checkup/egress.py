"""The egress policy: what connections may reach, and whether its folders are there and are not the server's own."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from headgate.app.checkup.finding import Finding, doubtful
from headgate.app.named_files import server_files
from headgate.app.settings import Settings
from headgate.control.egress.policy import SETTING

_WHAT = "egress"


def egress(settings: Settings, environ: Mapping[str, str], _now: float) -> Iterator[Finding]:
    """Look at the folders of each organization's rules."""
    policy, own = settings.egress, server_files(settings, environ)
    if not policy.organizations:
        yield Finding(_WHAT, "ok", f"no connection reaches anything: {SETTING} is not set")
        return
    for name, rules in policy.organizations.items():
        counted = f"{len(rules.folders)} folders and {len(rules.hosts)} hosts"
        yield Finding(_WHAT, "ok", f"connections of `{name}` reach {counted}")
        for folder in map(Path, rules.folders):
            if not folder.is_dir():
                yield doubtful(
                    _WHAT, f"the folder `{folder}` of `{name}` is not there", "make it, or take it off the list"
                )
            elif own.hold(folder):
                yield doubtful(
                    _WHAT, f"the folder `{folder}` of `{name}` is the server's own, and never reached", "list another"
                )
