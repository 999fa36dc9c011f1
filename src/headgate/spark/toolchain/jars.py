"""Additional jars such as Iceberg's: downloaded by Spark's package resolver or copied from a folder, and verified by checksum."""

import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from headgate.spark.toolchain.errors import ToolchainError
from headgate.spark.toolchain.java import Java
from headgate.spark.toolchain.truststore import PASSWORD, list_trusted_certificates, write_truststore


@dataclass(frozen=True, slots=True)
class Jar:
    """A published jar: its Maven coordinates, and the checksum that its bytes must have."""

    group: str
    artifact: str
    version: str
    sha256: str
    megabytes: int

    @property
    def file_name(self) -> str:
        """The published file name."""
        return f"{self.artifact}-{self.version}.jar"

    @property
    def coordinates(self) -> str:
        """The Maven coordinates in the form for a resolver."""
        return f"{self.group}:{self.artifact}:{self.version}"


ICEBERG = Jar(
    group="org.apache.iceberg",
    artifact="iceberg-spark-runtime-4.1_2.13",
    version="1.12.0",
    sha256="3123c3798af642dd537230923548e013ef41cc28b6626e5225808cf5670a0f82",
    megabytes=48,
)
POSTGRESQL = Jar(
    group="org.postgresql",
    artifact="postgresql",
    version="42.7.8",
    sha256="2a32a9dcbc42d67a50ad3a0de5efd102c8d2be46720045f2cbd6689f160ab7c7",
    megabytes=1,
)
"""The JDBC driver with which runs connect to PostgreSQL."""

_GIVE_UP_AFTER = 900
_TELL_EVERY = 5
_HARMLESS_MAIN = ("--class", "scala.tools.nsc.Main", "spark-internal", "-version")
"""The program that Spark runs after the resolution: a compiler that prints its version."""
_NETWORK_PATIENCE = (
    "-Dsun.net.client.defaultConnectTimeout=20000",
    "-Dsun.net.client.defaultReadTimeout=60000",
)


def spark_jars() -> Path:
    """Return the folder of Spark's own jars, inside the installed PySpark."""
    spec = find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        message = "PySpark is not installed; install Headgate again, or run `make setup` in its repository"
        raise ToolchainError(message)
    return Path(spec.submodule_search_locations[0]) / "jars"


def classpath(jars: Sequence[Path]) -> str:
    """Return the class path of a driver: these jars, then Spark's."""
    return os.pathsep.join((*map(str, jars), f"{spark_jars()}{os.sep}*"))


def cached_path(jar: Jar, cache: Path) -> Path:
    """Return the path of a jar in the cache."""
    return cache / "jars" / jar.file_name


def ensure_jar(jar: Jar, java: Java, cache: Path, folder: Path | None, say: Callable[[str], None]) -> Path:
    """Return the jar in the cache; if it is missing, copy it from the folder or else download it.

    Raises `ToolchainError` if it is not available, or has another checksum.
    """
    placed = cached_path(jar, cache)
    if placed.is_file() and _sha256(placed) == jar.sha256:
        return placed
    placed.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix="fetching-") as scratch:
        found = _from_folder(jar, folder) if folder else _resolve(jar, java, Path(scratch), say)
        _hold_to_checksum(jar, found)
        _place(found, placed)
    return placed


def _from_folder(jar: Jar, folder: Path) -> Path:
    found = folder / jar.file_name
    if not found.is_file():
        message = f"`{folder}` has no `{jar.file_name}`; add the file to it, or unset HEADGATE_JARS to download it"
        raise ToolchainError(message)
    return found


def _hold_to_checksum(jar: Jar, found: Path) -> None:
    actual = _sha256(found)
    if actual != jar.sha256:
        message = (
            f"`{jar.file_name}` does not have the expected checksum: its SHA-256 is {actual} and should be {jar.sha256}; "
            "the file was not installed; download the file again, and do not use it if its checksum is wrong again"
        )
        raise ToolchainError(message)


def _place(found: Path, placed: Path) -> None:
    """Copy atomically, so that an incomplete jar never has the final name."""
    with tempfile.NamedTemporaryFile(dir=placed.parent, prefix=".", delete=False) as copy:
        partial = Path(copy.name)
    try:
        shutil.copyfile(found, partial)
        partial.chmod(0o644)
        partial.replace(placed)
    finally:
        partial.unlink(missing_ok=True)


def _resolve(jar: Jar, java: Java, scratch: Path, say: Callable[[str], None]) -> Path:
    say(f"downloading {jar.file_name} ({jar.megabytes} MB) through Spark's package resolver")
    log = scratch / "resolver.log"
    with log.open("wb") as output:
        ended = _run_telling(_resolver_command(jar, java, scratch), output.fileno(), jar, scratch, say)
    found = scratch / "jars" / f"{jar.group}_{jar.file_name}"
    if not ended or not found.is_file():
        raise ToolchainError(_no_download(jar, log.read_text(errors="replace")))
    return found


def _resolver_command(jar: Jar, java: Java, scratch: Path) -> Sequence[str | Path]:
    return [
        java.path,
        *_NETWORK_PATIENCE,
        *(_trust_options(scratch) if java.bundled else ()),
        "-cp",
        f"{spark_jars()}{os.sep}*",
        "org.apache.spark.deploy.SparkSubmit",
        *("--master", "local"),
        *("--conf", f"spark.jars.ivy={scratch}"),
        *("--packages", jar.coordinates),
        *_HARMLESS_MAIN,
    ]


def _trust_options(scratch: Path) -> Sequence[str]:
    """Make the bundled Java trust the certificate authorities of this machine; an installed Java has its own list."""
    certificates = list_trusted_certificates()
    if not certificates:
        return ()
    store = scratch / "authorities.jks"
    write_truststore(certificates, store)
    return (
        f"-Djavax.net.ssl.trustStore={store}",
        "-Djavax.net.ssl.trustStoreType=JKS",
        f"-Djavax.net.ssl.trustStorePassword={PASSWORD}",
    )


def _run_telling(
    command: Sequence[str | Path], output: int, jar: Jar, scratch: Path, say: Callable[[str], None]
) -> bool:
    """Run the resolver and report its progress; return False if it was stopped at the time limit."""
    environ = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    give_up_at = time.monotonic() + _GIVE_UP_AFTER
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environ) as resolver:
        try:
            while time.monotonic() < give_up_at:
                try:
                    resolver.wait(timeout=_TELL_EVERY)
                except subprocess.TimeoutExpired:
                    say(f"  {_megabytes_in(scratch / 'cache')} of {jar.megabytes} MB")
                else:
                    return True
        finally:
            if resolver.poll() is None:
                resolver.kill()
    return False


def _megabytes_in(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*.jar*") if file.is_file()) // 1_000_000


def _no_download(jar: Jar, log: str) -> str:
    reason, step = "no repository could be reached", "check the network"
    if "PKIX" in log:
        reason = "the repository's certificate is not trusted"
        step = "add its certificate authority to the trusted ones of this machine"
    return (
        f"`{jar.file_name}` could not be downloaded: {reason}; {step}, or get {jar.coordinates} "
        "in another way and set HEADGATE_JARS to its folder"
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
