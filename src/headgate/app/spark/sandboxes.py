"""The sandboxes of the processes that this server starts: what the machine enforces, and what each process may use."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from headgate.app.deployment import Deployment
from headgate.app.settings.path_mentions import find_mentioned_paths
from headgate.app.settings.settings import Settings
from headgate.app.settings.variable import CONFIG_VARIABLE
from headgate.control.organizations.organization import Organization
from headgate.lake.former_databases import FormerDatabases
from headgate.sandbox import SandboxLevel
from headgate.spark.driver.clusters import Cluster
from headgate.spark.driver.config import DriverSandbox

SANDBOX_SETTING = "HEADGATE_SANDBOX"
_EVENT_LOGS = "spark.eventLog.dir"


class SandboxRequiredError(Exception):
    """The settings require a sandbox that this machine does not enforce."""


def describe_unenforced(settings: Settings, level: SandboxLevel, why: str) -> str:
    """Return which parts of the sandbox a machine with this level does not enforce, or an empty text; `why` is the reason.

    Raises `SandboxRequiredError` if the settings require a full sandbox.
    """
    if level is SandboxLevel.FULL:
        return ""
    line = f"sandbox of Spark's processes: {level.missing} ({why})"
    if settings.sandbox_required:
        raise SandboxRequiredError(
            f"{line}; use Linux 6.7 or newer, or set {SANDBOX_SETTING}=prefer to serve without a full sandbox"
        )
    return line


def with_own_event_logs(cluster: Cluster, organization: Organization) -> Cluster:
    """Return the cluster with a separate folder of event logs for one organization.

    Event logs contain statements with their constants, so organizations must not share them. A folder that is not on this
    machine is unchanged: the sandbox does not control it.
    """
    written = cluster.conf.get(_EVENT_LOGS, "")
    if not any(_paths(written)):
        return cluster
    return replace(cluster, conf={**cluster.conf, _EVENT_LOGS: f"{written.rstrip('/')}/{organization.id}"})


def prepare_driver_sandbox(
    deployment: Deployment,
    organization: Organization,
    cluster: Cluster,
    level: SandboxLevel,
    connects: tuple[int, ...],
    environ: Mapping[str, str],
) -> DriverSandbox:
    """Return the sandbox of an organization's driver on a cluster, and create the folders that the driver writes.

    The cluster is a result of `with_own_event_logs`. `connects` are the ports of the server that the driver may connect to.
    """
    settings = deployment.settings
    own = [settings.folder / root / organization.id for root in ("warehouse", "checkpoints", "scratch")]
    events = [path for path in find_mentioned_paths(cluster.conf.get(_EVENT_LOGS, "")) if path.parent.is_dir()]
    for folder in (*own, *events):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return DriverSandbox(
        level=level,
        writes=(*own, *_former_folders(deployment, organization), *events),
        reads=tuple(path for value in cluster.conf.values() for path in _paths(value)),
        forbidden=forbidden_files(settings, environ, settings.tls_key),
        connects=connects,
    )


def _former_folders(deployment: Deployment, organization: Organization) -> Iterator[Path]:
    """Yield the folders of databases in which an earlier version kept tables of the organization."""
    databases, organizations = FormerDatabases(organization.store), set(deployment.stores.logs())
    for folder in deployment.settings.warehouse.iterdir():
        if folder.name not in organizations and folder.name in databases and not folder.is_symlink():
            yield folder


def forbidden_files(settings: Settings, environ: Mapping[str, str], *more: Path | None) -> tuple[str, ...]:
    """Return the files and folders that a process must not open: the data folder, keys, tokens, passwords, and `more`."""
    keys = (settings.seal_key, settings.vault_key, settings.owner_token)
    found = (settings.folder, settings.warehouse, *keys, environ.get(CONFIG_VARIABLE), Path.home(), *more)
    return tuple(str(each) for each in found if each)


def _paths(text: str) -> Iterator[Path]:
    yield from (path for path in find_mentioned_paths(text) if path.exists())
