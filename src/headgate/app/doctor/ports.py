"""Checks the ports, the public URL and the TLS certificate."""

from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509

from headgate.app.doctor.finding import Finding, build_failure, warning
from headgate.app.settings.settings import Settings
from headgate.control.kernel.ports import StoreError
from headgate.endpoints.http.tls import Certificate
from headgate.spark.driver.ports import is_free
from headgate.spark.tls_files import TlsError
from headgate.store import FolderInUseError, FolderLock

_DAY = 86400.0
_SOON = 14


def check_ports(settings: Settings, _environ: Mapping[str, str], _now: float) -> Iterator[Finding]:
    """Check that a server runs on the data folder, or that its ports are free."""
    holder = _serving(settings)
    if holder is not None:
        yield holder
        yield from _gateway(settings)
        return
    wanted = [("HEADGATE_API_PORT", settings.bind, settings.api_port)]
    if settings.spark:
        wanted.append(("HEADGATE_SPARK_PORT", settings.bind, settings.gateway_port))
    for variable, host, port in wanted:
        if is_free(host, port):
            yield Finding("ports", "ok", f"port {port} is free")
        else:
            yield build_failure(
                "ports", f"port {port} of {host} is in use", f"stop the process that uses the port, or set {variable}"
            )


def public_url(settings: Settings, _environ: Mapping[str, str], _now: float) -> Iterator[Finding]:
    """Check that a server for other machines has a public URL."""
    if settings.logins.address is not None:
        yield Finding("public URL", "ok", settings.logins.address)
    elif ip_address(settings.bind).is_loopback and not settings.proxies:
        yield Finding("public URL", "ok", "the public URL is not needed on a loopback address")
    else:
        seen = "no public URL is set, so requests with a DNS name in `Host` are refused"
        yield warning("public URL", seen, "set HEADGATE_PUBLIC_URL to the URL that clients use")


def check_certificate(settings: Settings, _environ: Mapping[str, str], now: float) -> Iterator[Finding]:
    """Check that the certificate fits its key and has not expired."""
    if settings.tls_cert is None or settings.tls_key is None:
        yield Finding("TLS", "ok", f"the server listens without TLS on {settings.bind}, as the settings permit")
        return
    try:
        Certificate(settings.tls_cert, settings.tls_key)
        days = (_ends(settings.tls_cert) - now) / _DAY
    except (TlsError, ValueError) as error:
        yield build_failure("TLS", str(error), "correct the files of HEADGATE_TLS_CERT and HEADGATE_TLS_KEY")
        return
    seen = (
        f"the certificate expires in {days:.0f} days" if days > 0 else f"the certificate expired {-days:.0f} days ago"
    )
    do = "replace the file with a renewed certificate; a running server reloads it"
    if days <= 0:
        yield build_failure("TLS", seen, do)
    elif days < _SOON:
        yield warning("TLS", seen, do)
    else:
        yield Finding("TLS", "ok", seen)


def may_be_served(settings: Settings) -> bool:
    """Whether another process may serve the deployment: a process has locked the data folder, or the store is shared."""
    if settings.store_url is not None or not settings.folder.exists():
        return settings.store_url is not None
    try:
        FolderLock.take(settings.folder).close()
    except StoreError:
        return True
    return False


def _serving(settings: Settings) -> Finding | None:
    """Return the finding about the process that has locked the data folder; None if there is none."""
    if settings.store_url is not None or not settings.folder.exists():
        return None
    try:
        FolderLock.take(settings.folder).close()
    except FolderInUseError:
        answers = not is_free(settings.bind, settings.api_port)
        if answers or not settings.api_port:
            return Finding("lock", "ok", "a server runs on this data folder")
        seen = f"a process uses the data folder, but none listens on port {settings.api_port} of {settings.bind}"
        return warning(
            "lock",
            seen,
            "wait if the server is starting or stopping; else end the process whose id is in the file `lock` of the data folder",
        )
    except StoreError as error:
        return build_failure(
            "lock", str(error), f"make this user the owner of the data folder: chown -R $(id -u) {settings.folder}"
        )
    return None


def _gateway(settings: Settings) -> Iterator[Finding]:
    """Check that the gateway of the running server listens, if its port is known."""
    if not settings.spark or not settings.gateway_port:
        return
    if is_free(settings.bind, settings.gateway_port):
        seen = f"no process listens for Spark Connect on port {settings.gateway_port} of {settings.bind}"
        yield warning(
            "gateway", seen, "wait if the server is starting; if not, look for the reason in the server's log"
        )
    else:
        yield Finding("gateway", "ok", f"the gateway listens for Spark Connect on port {settings.gateway_port}")


def _ends(file: Path) -> float:
    return x509.load_pem_x509_certificate(file.read_bytes()).not_valid_after_utc.timestamp()
