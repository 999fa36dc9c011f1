"""No connection can reach a file that a setting names; the tests try every setting."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from headgate.app.settings.named_files import server_files
from headgate.app.settings.schema import VARIABLES
from headgate.app.settings.settings import Settings, default_settings
from headgate.app.settings.variable import FILE_KINDS, FILE_SUFFIX, SettingSpec
from tests.app.settings.test_egress_file import GOOD

CONTENTS = {"clusters": "", "egress": GOOD, "path": ""}
FILES = [each for each in VARIABLES if each.kind in FILE_KINDS]
SECRETS = [each for each in VARIABLES if each.secret]
STORE = "postgresql://u@db.example.org/headgate"
VALUES = {"HEADGATE_STORE": STORE}


def named(tmp_path: Path, name: str, content: str) -> Path:
    found = tmp_path / "named" / name
    found.parent.mkdir(exist_ok=True)
    found.write_text(content, encoding="utf-8")
    return found


TOGETHER = (
    ("HEADGATE_TLS_CERT", "HEADGATE_TLS_KEY"),
    ("HEADGATE_OIDC_SECRET", "HEADGATE_OIDC_ISSUER", "HEADGATE_OIDC_CLIENT"),
)
"""Groups of settings that must be set together."""


def settings_with(variable: SettingSpec, environ: dict[str, str]) -> Settings:
    """Return settings from an environment that sets a variable and the others of its group."""
    others = {name for group in TOGETHER if variable.name in group for name in group} - {variable.name}
    return default_settings({**dict.fromkeys(others, "https://login.example.org"), **environ})


@pytest.mark.parametrize("variable", FILES, ids=lambda each: each.name)
def test_a_file_of_a_setting_is_the_servers_own(tmp_path: Path, variable: SettingSpec) -> None:
    file = named(tmp_path, variable.name, CONTENTS[variable.kind])
    environ = {variable.name: str(file)}

    assert server_files(settings_with(variable, environ), environ).is_own(file)


@pytest.mark.parametrize("variable", SECRETS, ids=lambda each: each.name)
def test_a_file_of_a_secret_is_the_servers_own(tmp_path: Path, variable: SettingSpec) -> None:
    file = named(tmp_path, variable.name, VALUES.get(variable.name, "secret"))
    environ = {variable.name + FILE_SUFFIX: str(file)}

    assert server_files(settings_with(variable, environ), environ).is_own(file)


@pytest.mark.parametrize("variable", [each for each in (*FILES, *SECRETS) if each.in_file], ids=lambda each: each.name)
def test_a_file_that_the_configuration_file_names_is_the_servers_own(tmp_path: Path, variable: SettingSpec) -> None:
    is_secret = variable in SECRETS
    file = named(tmp_path, variable.name, VALUES.get(variable.name, "secret") if is_secret else CONTENTS[variable.kind])
    key = variable.key + FILE_SUFFIX.lower() if is_secret else variable.key
    config = tmp_path / "headgate.toml"
    config.write_text(f'{key} = "{file}"\n')
    environ = {"HEADGATE_CONFIG": str(config)}

    found = server_files(settings_with(variable, environ), environ)

    assert found.is_own(file)
    assert found.is_own(config)


def test_every_path_of_the_settings_is_the_servers_own(tmp_path: Path) -> None:
    settings = replace(default_settings({}, folder=tmp_path / "data"), cache=tmp_path / "cache")

    found = server_files(settings, {"XDG_CONFIG_HOME": str(tmp_path / "config")})

    for name in (
        "data",
        "data/warehouse",
        "data/keys/secrets.key",
        "data/owner.token",
        "cache/jars",
        "config/headgate/x",
    ):
        assert found.is_own(tmp_path / name)
    assert not found.is_own(tmp_path / "other")


def test_a_file_of_the_stores_url_is_the_servers_own(tmp_path: Path) -> None:
    key, password = tmp_path / "client.key", tmp_path / "pgpass"
    settings = replace(default_settings({}), store_url=f"{STORE}?sslkey={key}&passfile={password}")

    found = server_files(settings, {})

    assert found.is_own(key)
    assert found.is_own(password)


@pytest.mark.parametrize(
    "name", ["PGPASSFILE", "PGSSLKEY", "PGSSLCERT", "PGSSLROOTCERT", "PGSSLCRL", "PGSSLCRLDIR", "PGSERVICEFILE"]
)
def test_a_file_that_libpqs_environment_names_is_the_servers_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, str(tmp_path / "named"))

    for url in (None, STORE):
        assert server_files(replace(default_settings({}), store_url=url), os.environ).is_own(tmp_path / "named")


@pytest.mark.parametrize("named", ["url", "environment"])
def test_a_file_of_the_stores_service_is_the_servers_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    services, key = tmp_path / "services", tmp_path / "service.key"
    services.write_text(f"[own]\nhost=db\nsslkey={key}\n")
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    if named == "environment":
        monkeypatch.setenv("PGSERVICE", "own")
    url = STORE if named == "environment" else f"{STORE}?service=own"

    found = server_files(replace(default_settings({}), store_url=url), os.environ)

    assert found.is_own(key)
    assert found.is_own(services)


def test_the_files_that_libpq_finds_in_the_home_folder_are_the_servers_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("PGPASSFILE", "PGSERVICEFILE"):
        monkeypatch.delenv(name, raising=False)

    found = server_files(default_settings({}), os.environ)

    for name in (".pgpass", ".pg_service.conf", ".postgresql/postgresql.key"):
        assert found.is_own(tmp_path / name)


def test_a_file_of_a_cluster_is_the_servers_own(tmp_path: Path) -> None:
    clusters, secret = tmp_path / "clusters.toml", tmp_path / "spark.secret"
    clusters.write_text(
        f'[big]\nmaster = "spark://host:7077"\nsecret_file = "{secret}"\nhadoop = "{tmp_path / "conf"}"\n'
    )
    environ = {"HEADGATE_CLUSTERS": str(clusters)}

    found = server_files(default_settings(environ), environ)

    for file in (clusters, secret, tmp_path / "conf" / "core-site.xml"):
        assert found.is_own(file)


CONF_FILES = (
    ("spark.kubernetes.authenticate.submission.clientKeyFile", "{file}"),
    ("spark.kubernetes.authenticate.driver.oauthTokenFile", "file:{file}"),
    ("spark.kubernetes.authenticate.submission.caCertFile", "file://{file}"),
    ("spark.hadoop.fs.s3a.security.credential.provider.path", "localjceks://file{file}"),
    ("spark.yarn.dist.files", "hdfs:///else/where,local:{file}"),
    ("spark.yarn.am.extraJavaOptions", "-Xmx1g -Djavax.net.ssl.keyStore={file}"),
    ("spark.executor.extraClassPath", "/else/where:{file}"),
    ("spark.yarn.keytab", "file:///a/../{file}"),
    ("spark.kubernetes.file.upload.path", "file://localhost{file}"),
    ("spark.yarn.dist.archives", "'{file}#inner'"),
)
"""Keys of a cluster's `conf`, each with spellings of a file."""


@pytest.mark.parametrize(("key", "written"), CONF_FILES)
def test_a_file_that_a_clusters_conf_names_is_the_servers_own(tmp_path: Path, key: str, written: str) -> None:
    clusters, file = tmp_path / "clusters.toml", tmp_path / "named.file"
    clusters.write_text(f'[big]\nmaster = "k8s://https://host"\n[big.conf]\n"{key}" = "{written.format(file=file)}"\n')
    environ = {"HEADGATE_CLUSTERS": str(clusters)}

    found = server_files(default_settings(environ), environ)

    assert found.is_own(file)
    assert not found.is_own(tmp_path / "other")


def test_a_clusters_conf_without_a_file_makes_no_other_file_the_servers_own(tmp_path: Path) -> None:
    clusters = tmp_path / "clusters.toml"
    clusters.write_text(
        '[big]\nmaster = "k8s://https://host"\n[big.conf]\n"spark.executor.memory" = "4g"\n'
        '"spark.yarn.historyServer.address" = "https://host/"\n'
        '"spark.kubernetes.namespace" = "/"\n"spark.hadoop.fs.defaultFS" = "file:///"\n'
    )
    environ = {"HEADGATE_CLUSTERS": str(clusters)}

    assert not server_files(default_settings(environ), environ).is_own(tmp_path / "other")


@pytest.mark.parametrize(
    "name",
    [
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
    ],
)
def test_a_file_named_by_an_object_stores_or_clusters_environment_is_the_servers_own(tmp_path: Path, name: str) -> None:
    file = tmp_path / "named"

    for written in (str(file), f"FILE:{file}", f"/else/where:{file}"):
        assert server_files(default_settings({}), {name: written}).is_own(file)
    assert server_files(default_settings({}), {name: os.path.relpath(file)}).is_own(file)


def test_the_home_folder_files_of_object_stores_and_clusters_are_the_servers_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    found = server_files(default_settings({}), {})

    for name in (".aws/credentials", ".aws/sso/cache/token.json", ".kube/config"):
        assert found.is_own(tmp_path / name)


@pytest.mark.parametrize(
    "file",
    [
        "/etc/krb5.keytab",
        f"/tmp/krb5cc_{os.getuid()}",  # noqa: S108 (where Kerberos keeps tickets)
        "/var/run/secrets/kubernetes.io/serviceaccount/token",
        "/var/run/secrets/kubernetes.io/serviceaccount/..data/token",
    ],
)
def test_the_default_files_of_kerberos_and_a_pod_are_the_servers_own(file: str) -> None:
    assert server_files(default_settings({}), {}).is_own(Path(file))
