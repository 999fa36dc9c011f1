"""The settings of a deployment: its data folder and store, its addresses and ports, and its limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from headgate.app.settings.parsing import SettingsError, parse_values
from headgate.app.settings.variable import LAST_PORT
from headgate.control.authentication.settings import LoginSettings, Provider
from headgate.control.egress import EgressPolicy
from headgate.control.pipelines.cluster_names import EMBEDDED
from headgate.endpoints.http.limits import Limits
from headgate.spark.driver.clusters import Cluster, Clusters
from headgate.spark.sql.statements import SqlLimits
from headgate.spark.toolchain.prepare import default_cache, default_jars_folder

if TYPE_CHECKING:
    from headgate.control.kernel.audit_records import AuditLevel  # with the facts, which delay every command

__all__ = [
    "API_PORT",
    "DEFAULT_MODEL",
    "HOST",
    "LAST_PORT",
    "SPARK_PORT",
    "Settings",
    "SettingsError",
    "default_settings",
]

HOST = "127.0.0.1"
"""The default address on which a deployment listens, and the address by which its Spark driver reaches it."""
API_PORT = 8020
SPARK_PORT = 15002
DEFAULT_MODEL = "nekt"
"""The access model of the deployment's own log, and of an organization that is created without naming one."""


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """The access to an S3-compatible object store; for an empty field the AWS configuration of the machine is used."""

    endpoint: str = ""
    region: str = ""
    access_key: str = field(default="", repr=False)
    secret_key: str = field(default="", repr=False)

    @property
    def properties(self) -> Mapping[str, str]:
        """The fields that are set, by their names in PyIceberg's FileIO."""
        named = {
            "s3.endpoint": self.endpoint,
            "s3.region": self.region,
            "s3.access-key-id": self.access_key,
            "s3.secret-access-key": self.secret_key,
        }
        return {name: value for name, value in named.items() if value}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one deployment. Port 0 chooses a free one. Raises `SettingsError` for settings that exclude each other."""

    folder: Path
    cache: Path
    jars_folder: Path | None
    api_port: int = API_PORT
    gateway_port: int = SPARK_PORT
    spark: bool = True
    """Whether to start Spark. Without it this process serves only the control plane, as a further replica does."""
    spark_organizations: tuple[str, ...] = ()
    """The ids of the organizations, besides the home organization, that get a driver of their own; `*` means all."""
    spark_statement_seconds: float = 0.0
    """The longest run time of a statement on Spark, in seconds; 0 is no limit."""
    spark_free_disk_mib: int = 1024
    """The space that statements on Spark leave free on the disk of the data folder, in MiB."""
    sandbox: Literal["require", "prefer"] | None = None
    """Whether a full sandbox of Spark's processes is required; None: required unless the server listens on loopback."""
    clusters: Clusters = field(default_factory=lambda: Clusters(Cluster(EMBEDDED)))
    """The clusters on which runs of pipelines can execute."""
    egress: EgressPolicy = field(default_factory=EgressPolicy)
    """The egress policy: what the connections of each organization may reach. An empty policy permits nothing."""
    worker: bool = True
    """Whether the server executes runs, after Spark has started."""
    worker_slots: int = 4
    gateway: str = f"http://localhost:{SPARK_PORT}"
    """The URL of Spark Connect for a separate worker."""
    openlineage_url: str | None = None
    openlineage_key: str = field(default="", repr=False)
    owner: str = "owner"
    store_url: str | None = field(default=None, repr=False)
    """A `postgresql://` URL; if None, the store is a file in the data folder."""
    bucket: str | None = None
    """The place of the tables' files in an object store; if None, they are in the data folder."""
    s3: ObjectStore = field(default_factory=ObjectStore)
    log_key: Path | None = None
    """The file of the key that seals the log; if None, it is in the data folder."""
    secrets_key: Path | None = None
    """The file of the key that encrypts the secrets of connections; if None, it is in the data folder."""
    model: str = DEFAULT_MODEL
    """The installed access model of an organization that is created without naming one."""
    models: Path | None = None
    """The folder of access models that are installed at the start; if None, no file is installed."""
    audit: "AuditLevel" = "denied"
    bind: str = HOST
    tls_cert: Path | None = None
    tls_key: Path | None = None
    insecure_http: bool = False
    proxies: tuple[str, ...] = ()
    """The trusted proxies, whose `X-Forwarded-...` headers are believed."""
    origins: tuple[str, ...] = ()
    drain_seconds: float = 10.0
    limits: Limits = field(default_factory=Limits)
    log: Literal["text", "json"] = "text"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    metrics: Literal["loopback", "token", "open"] = "loopback"
    metrics_token: str = field(default="", repr=False)
    logins: LoginSettings = field(default_factory=LoginSettings, repr=False)
    sql: SqlLimits = field(default_factory=SqlLimits)

    def __post_init__(self) -> None:
        if self.bucket is not None and self.spark:
            raise SettingsError(
                "HEADGATE_WAREHOUSE is set, but Spark reads only tables in the data folder; set HEADGATE_SPARK=0, or unset HEADGATE_WAREHOUSE"
            )
        if (self.tls_cert is None) != (self.tls_key is None):
            raise SettingsError("only one of HEADGATE_TLS_CERT and HEADGATE_TLS_KEY is set; set both or neither")
        if not (self.tls or self.insecure_http or ip_address(self.bind).is_loopback):
            raise SettingsError(
                f"`{self.bind}` in HEADGATE_BIND can be reached from other machines, and tokens would be sent unencrypted; "
                "set HEADGATE_TLS_CERT and HEADGATE_TLS_KEY, or, behind a load balancer that has TLS, HEADGATE_INSECURE_HTTP=1"
            )
        if self.metrics == "token" and not self.metrics_token:
            raise SettingsError(
                "HEADGATE_METRICS is `token`, but no token is set; set HEADGATE_METRICS_TOKEN or HEADGATE_METRICS_TOKEN_FILE"
            )

    @property
    def tls(self) -> bool:
        """Whether the HTTP API is served with TLS."""
        return self.tls_cert is not None

    @property
    def sandbox_required(self) -> bool:
        """Whether Spark's processes must be in a full sandbox. By default not for a server on loopback, such as on a laptop."""
        if self.sandbox is None:
            return not ip_address(self.bind).is_loopback
        return self.sandbox == "require"

    @property
    def warehouse(self) -> Path:
        """The folder of the tables' files, unless they are in an object store."""
        return self.folder / "warehouse"

    @property
    def seal_key(self) -> Path:
        """The file of the key that seals the log."""
        return self.log_key or self.folder / "keys" / "log.pem"

    @property
    def vault_key(self) -> Path:
        """The file of the key that encrypts the secrets of connections."""
        return self.secrets_key or self.folder / "keys" / "secrets.key"

    @property
    def owner_token(self) -> Path:
        """The file with the first owner's token, for the command line on this machine."""
        return self.folder / "owner.token"


def default_settings(
    environ: Mapping[str, str],
    *,
    folder: Path | None = None,
    jars_folder: Path | None = None,
    api_port: int | None = None,
    gateway_port: int | None = None,
) -> Settings:
    """Return the settings of the environment and the configuration file; arguments override both. Raises `SettingsError`."""
    written = dict(parse_values(environ))
    given = {"folder": folder, "jars_folder": jars_folder, "api_port": api_port, "gateway_port": gateway_port}
    written |= {name: value for name, value in given.items() if value is not None}
    own = {name: value for name, value in written.items() if "." not in name}
    own |= {"limits": replace(Limits(), **_below("limits", written)), "logins": _logins(written)}
    own["s3"] = ObjectStore(**_below("s3", written))
    own |= {"sql": replace(SqlLimits(), **_below("sql", written))}
    defaults = {"folder": Path(".headgate"), "cache": default_cache({}), "jars_folder": default_jars_folder({})}
    settings = Settings(**{**defaults, **own})
    return replace(settings, folder=settings.folder.absolute())


def _logins(written: Mapping[str, Any]) -> LoginSettings:
    provider = _below("provider", written)
    if not provider:
        return replace(LoginSettings(), **_below("logins", written))
    if "issuer" not in provider or "client" not in provider:
        raise SettingsError(
            "a login with OpenID Connect needs HEADGATE_OIDC_ISSUER and HEADGATE_OIDC_CLIENT; set both, or unset all of HEADGATE_OIDC_*"
        )
    provider["join"] = frozenset(provider.get("join", ()))
    return replace(LoginSettings(), provider=Provider(**provider), **_below("logins", written))


def _below(group: str, written: Mapping[str, Any]) -> dict[str, Any]:
    prefix = f"{group}."
    return {name.removeprefix(prefix): value for name, value in written.items() if name.startswith(prefix)}
