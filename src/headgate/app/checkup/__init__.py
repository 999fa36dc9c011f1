"""Is this deployment well? Each check looks at one thing, changes nothing, and says what to do about it."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from headgate.app.checkup.clusters import clusters
from headgate.app.checkup.egress import egress
from headgate.app.checkup.finding import Finding, failed
from headgate.app.checkup.folder import data_folder, disk, secrets
from headgate.app.checkup.listening import certificate, ports, public_url
from headgate.app.checkup.sandbox import sandbox
from headgate.app.checkup.stored import stored
from headgate.app.checkup.tools import tools
from headgate.app.settings import Settings, SettingsError

__all__ = ["Finding", "checkup"]

Check = Callable[[Settings, Mapping[str, str], float], Iterator[Finding]]

CHECKS: Sequence[Check] = (
    data_folder,
    secrets,
    disk,
    stored,
    ports,
    public_url,
    certificate,
    tools,
    sandbox,
    clusters,
    egress,
)


def checkup(read: Callable[[], Settings], environ: Mapping[str, str], now: float) -> Iterator[Finding]:
    """Yield what is found, first of the settings that `read` returns: without them there is nothing else to look at."""
    try:
        settings = read()
    except SettingsError as error:
        yield failed("settings", str(error), "put that right")
        return
    yield Finding("settings", "ok", "can be used")
    for check in CHECKS:
        yield from check(settings, environ, now)
