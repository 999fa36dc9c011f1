"""The ports, and the certificate that is shown there."""

from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509

from headgate.app.doctor.finding import Finding, build_failure, warning
from headgate.app.settings.settings import Settings
from headgate.control.kernel.ports import StoreError
from headgate.endpoints.http.tls import Certificate, TlsError
from headgate.spark.driver.ports import is_free
from headgate.store import FolderInUseError, FolderLock

_DAY = 86400.0
_SOON = 14


def check_ports(settings: Settings, _environ: Mapping[str, str], _now: float) -> Iterator[Finding]:
    """Look whether a server runs on the data folder, or could."""
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
            yield Finding("ports", "ok", f"{port} is free")
        else:
            yield build_failure("ports", f"{port} of {host} is in use", f"end what holds it, or set {variable}")


def public_url(settings: Settings, _environ: Mapping[str, str], _now: float) -> Iterator[Finding]:
    """Check that a server which other machines reach has the URL that they use."""
    if settings.logins.address is not None:
        yield Finding("public URL", "ok", settings.logins.address)
    elif ip_address(settings.bind).is_loopback and not settings.proxies:
        yield Finding("public URL", "ok", "none is needed on loopback")
    else:
        seen = "none is set, so requests that name a DNS name in `Host` are refused"
        yield warning("public URL", seen, "set HEADGATE_PUBLIC_URL to the URL that clients use")


def check_certificate(settings: Settings, _environ: Mapping[str, str], now: float) -> Iterator[Finding]:
    """Look whether the certificate fits its key, and until when it is good."""
    if settings.tls_cert is None or settings.tls_key is None:
        yield Finding("TLS", "ok", f"none, on {settings.bind}")
        return
    try:
        Certificate(settings.tls_cert, settings.tls_key)
        days = (_ends(settings.tls_cert) - now) / _DAY
    except (TlsError, ValueError) as error:
        yield build_failure("TLS", str(error), "put a certificate and its key there")
        return
    seen = f"the certificate ends in {days:.0f} days" if days > 0 else f"the certificate ended {-days:.0f} days ago"
    do = "put a new one in its place; a running server takes it by itself"
    if days <= 0:
        yield build_failure("TLS", seen, do)
    elif days < _SOON:
        yield warning("TLS", seen, do)
    else:
        yield Finding("TLS", "ok", seen)


def may_be_served(settings: Settings) -> bool:
    """Return whether another process may serve the deployment: it holds the data folder, or the store is shared."""
    if settings.store_url is not None or not settings.folder.exists():
        return settings.store_url is not None
    try:
        FolderLock.take(settings.folder).close()
    except StoreError:
        return True
    return False


def _serving(settings: Settings) -> Finding | None:
    """Return what is to say of a server that runs on the data folder; None if there is none."""
    if settings.store_url is not None or not settings.folder.exists():
        return None
    try:
        FolderLock.take(settings.folder).close()
    except FolderInUseError:
        answers = not is_free(settings.bind, settings.api_port)
        if answers or not settings.api_port:
            return Finding("lock", "ok", "a server runs on this data folder")
        seen = f"a process holds the data folder, and nothing listens on {settings.api_port} of {settings.bind}"
        return warning("lock", seen, "wait if it is starting or ending; its process id is in the file `lock`")
    except StoreError as error:
        return build_failure("lock", str(error), "give the folder to this user")
    return None


def _gateway(settings: Settings) -> Iterator[Finding]:
    """Look whether the running server's gateway answers, where it is known on which port."""
    if not settings.spark or not settings.gateway_port:
        return
    if is_free(settings.bind, settings.gateway_port):
        seen = f"nothing listens for Spark Connect on {settings.gateway_port} of {settings.bind}"
        yield warning("gateway", seen, "wait if the server is starting; else its log says why the gateway ended")
    else:
        yield Finding("gateway", "ok", f"listens for Spark Connect on {settings.gateway_port}")


def _ends(file: Path) -> float:
    return x509.load_pem_x509_certificate(file.read_bytes()).not_valid_after_utc.timestamp()
