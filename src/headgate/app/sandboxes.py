"""The sandboxes of the processes that this server starts: how much of them the machine enforces, and what each may reach."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from headgate.app.deployment import Deployment
from headgate.app.path_mentions import mentioned_paths
from headgate.app.settings import Settings
from headgate.app.variable import CONFIG
from headgate.control.organization import Organization
from headgate.lake.former_databases import FormerDatabases
from headgate.sandbox import Level
from headgate.sandbox.machine import found_level
from headgate.spark.clusters import Cluster
from headgate.spark.driver_sandbox import DriverSandbox

SETTING = "HEADGATE_SANDBOX"
_EVENT_LOGS = "spark.eventLog.dir"


class SandboxRequiredError(Exception):
    """The settings require a sandbox that this machine does not enforce."""


def unenforced(settings: Settings, level: Level, why: str) -> str:
    """Return the line that says what a machine with this level does not enforce, or nothing; `why` is the reason.

    Raises `SandboxRequiredError` if that is not enough for the settings.
    """
    if level is Level.FULL:
        return ""
    line = f"sandbox of Spark's processes: {level.missing} ({why})"
    if settings.sandbox_required:
        raise SandboxRequiredError(f"{line}; use Linux 6.7 or newer, or set {SETTING}=prefer to serve without")
    return line


def driver_sandbox(
    deployment: Deployment, organization: Organization, cluster: Cluster, api_url: str, environ: Mapping[str, str]
) -> DriverSandbox:
    """Return the sandbox of an organization's driver on a cluster; the folders that it writes exist then."""
    settings = deployment.settings
    own = [settings.folder / root / organization.id for root in ("warehouse", "checkpoints", "scratch")]
    for folder in own:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return DriverSandbox(
        level=found_level()[0],
        writes=(*own, *_former_folders(deployment, organization), *_paths(cluster.conf.get(_EVENT_LOGS, ""))),
        reads=tuple(path for value in cluster.conf.values() for path in _paths(value)),
        forbidden=(*forbidden_files(settings, environ), *((str(settings.tls_key),) if settings.tls_key else ())),
        connects=(urlsplit(api_url).port or 0,),
    )


def _former_folders(deployment: Deployment, organization: Organization) -> Iterator[Path]:
    """Yield the folders of databases in which an earlier version kept tables of the organization."""
    databases, organizations = FormerDatabases(organization.store), set(deployment.stores.logs())
    for folder in deployment.settings.warehouse.iterdir():
        if folder.name not in organizations and folder.name in databases and not folder.is_symlink():
            yield folder


def forbidden_files(settings: Settings, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return what no such process opens: the data folder itself, with the store, and what has keys, tokens and passwords."""
    keys = (settings.seal_key, settings.vault_key, settings.owner_token)
    config = (Path(environ[CONFIG]),) if environ.get(CONFIG) else ()
    return tuple(map(str, (settings.folder, settings.warehouse, *keys, *config, Path.home())))


def _paths(text: str) -> Iterator[Path]:
    yield from (path for path in mentioned_paths(text) if path.exists())
