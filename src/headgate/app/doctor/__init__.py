"""Checks of a deployment: each examines one thing, changes nothing, and says what to do about a fault."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from headgate.app.doctor.clusters import check_clusters
from headgate.app.doctor.egress import egress
from headgate.app.doctor.finding import Finding, build_failure
from headgate.app.doctor.folder import check_disk, check_secrets, data_folder
from headgate.app.doctor.ports import check_certificate, check_ports, public_url
from headgate.app.doctor.sandbox import sandbox
from headgate.app.doctor.store import store
from headgate.app.doctor.toolchain import tools
from headgate.app.settings.settings import Settings, SettingsError

__all__ = ["Finding", "doctor"]

Check = Callable[[Settings, Mapping[str, str], float], Iterator[Finding]]

CHECKS: Sequence[Check] = (
    data_folder,
    check_secrets,
    check_disk,
    store,
    check_ports,
    public_url,
    check_certificate,
    tools,
    sandbox,
    check_clusters,
    egress,
)


def doctor(read: Callable[[], Settings], environ: Mapping[str, str], now: float) -> Iterator[Finding]:
    """Yield the findings of all checks. Settings that `read` cannot read are the only finding: every check needs them."""
    try:
        settings = read()
    except SettingsError as error:
        yield build_failure("settings", str(error), "correct the setting")
        return
    yield Finding("settings", "ok", "valid")
    for check in CHECKS:
        yield from check(settings, environ, now)
