"""All files and folders that the settings name, found by the definitions of the settings. No connection may read them."""

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from headgate.app.settings.operator_folder import operator_folder
from headgate.app.settings.path_mentions import find_mentioned_paths
from headgate.app.settings.schema import VARIABLES
from headgate.app.settings.settings import Settings
from headgate.app.settings.variable import CONFIG_VARIABLE, FILE_KINDS, FILE_SUFFIX, SettingSpec
from headgate.pipelines.connections.server_files import ServerFiles
from headgate.spark.driver.clusters import Cluster
from headgate.store.postgresql import connection_parameters

_OF_LIBPQ = ("passfile", "sslcert", "sslkey", "sslrootcert", "sslcrl", "sslcrldir", "sslkeylogfile")
"""Parameters of libpq that name files."""
_OF_LIBRARIES = (
    "AWS_CA_BUNDLE",
    "AWS_CONFIG_FILE",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "KRB5CCNAME",
    "KRB5_CLIENT_KTNAME",
    "KRB5_CONFIG",
    "KRB5_KTNAME",
    "KUBECONFIG",
)
"""Environment variables by which the clients of object stores, Kerberos and Kubernetes find their files."""
_HOMES_OF_LIBRARIES = (".aws", ".kube")
"""Their default folders in the user's home."""
_DEFAULTS_OF_LIBRARIES = (
    "/etc/krb5.keytab",
    f"/tmp/krb5cc_{os.getuid()}",  # noqa: S108 (where Kerberos keeps the tickets of this user)
    "/var/run/secrets/kubernetes.io",
)
"""Their other default files. The last one has the token of the pod."""
_NO_STORE = "postgresql://"
"""A URL without parameters: libpq takes them all from the environment."""


def server_files(settings: Settings, environ: Mapping[str, str]) -> ServerFiles:
    """Return the files and folders of the server, which no connection may read.

    They are: those that the settings name, the files in which settings are written, the saved sessions of the command line, the
    files that libpq reads for the store, those of the clients of object stores and clusters, and those that the
    configuration of a cluster mentions. Raises `StoreError` for an invalid store URL.
    """
    clusters = tuple(settings.clusters.find(name) for name in settings.clusters.names)
    named = (*_paths(settings), *(path for each in clusters for path in _paths(each)))
    owned = (settings.warehouse, settings.seal_key, settings.vault_key, settings.owner_token)
    of_libpq = _of_libpq(settings.store_url or _NO_STORE, environ)
    outside = (*of_libpq, *_of_libraries(environ), *(path for each in clusters for path in _of_conf(each)))
    found = (*named, *owned, *_find_named_files(environ), *outside, operator_folder(environ))
    return ServerFiles(tuple(dict.fromkeys(found)))


def _find_named_files(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the files that variables of the environment and keys of the configuration file name."""
    config = environ.get(CONFIG_VARIABLE, "")
    written = {**_keys(config), **environ}
    for name in (name for variable in VARIABLES for name in _names(variable)):
        if written.get(name):
            yield Path(written[name])


def _names(variable: SettingSpec) -> Iterator[str]:
    """Yield the names under which a setting names a file."""
    if variable.kind in FILE_KINDS:
        yield from (variable.name, variable.key)
    if variable.secret:
        yield from (variable.name + FILE_SUFFIX, variable.key + FILE_SUFFIX.lower())


def _keys(config: str) -> Mapping[str, str]:
    if not config:
        return {}
    try:
        content = tomllib.loads(Path(config).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return {}  # reading the settings has reported the unreadable file already
    return {key: value for key, value in content.items() if isinstance(value, str)}


def _paths(found: Any) -> Iterator[Path]:
    """Yield every path in the fields of a dataclass, recursively."""
    if isinstance(found, Path):
        yield found
    elif is_dataclass(found) and not isinstance(found, type):
        for field in fields(found):
            yield from _paths(getattr(found, field.name))


def _of_conf(cluster: Cluster | None) -> Iterator[Path]:
    """Yield the paths in the values of a cluster's configuration: keys, tokens and keytabs that Spark reads."""
    for value in cluster.conf.values() if cluster else ():
        yield from find_mentioned_paths(value)


def _of_libraries(environ: Mapping[str, str]) -> Iterator[Path]:
    for text in (environ[name] for name in _OF_LIBRARIES if environ.get(name)):
        yield from (Path(text), *find_mentioned_paths(text))
    yield from (Path.home() / each for each in _HOMES_OF_LIBRARIES)
    yield from map(Path, _DEFAULTS_OF_LIBRARIES)


def _of_libpq(url: str, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the files that libpq reads for connections to the store: named by the URL, a service or the environment, or default."""
    parameters = connection_parameters(url)
    yield from (Path(parameters[each]) for each in _OF_LIBPQ if each in parameters)
    yield Path(environ.get("PGSERVICEFILE") or Path.home() / ".pg_service.conf")
    yield Path.home() / ".postgresql"  # the default certificates and keys
