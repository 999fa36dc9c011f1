"""The files of `deploy/` match the server: its settings, its probes, its ports."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from headgate.app.settings.schema import VARIABLES
from headgate.app.settings.settings import default_settings
from headgate.app.settings.variable import FILE_SUFFIX
from headgate.endpoints.http.probes import PATHS

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
NAMES = {each.name for each in VARIABLES} | {each.name + FILE_SUFFIX for each in VARIABLES if each.secret}


@pytest.fixture
def container() -> Any:
    """The server's container in the manifest."""
    documents = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8"))
    (stateful,) = [each for each in documents if each["kind"] == "StatefulSet"]
    (found,) = stateful["spec"]["template"]["spec"]["containers"]
    return found


@pytest.mark.parametrize("file", sorted(DEPLOY.iterdir()), ids=lambda file: file.name)
def test_every_setting_that_a_deploy_file_names_exists(file: Path) -> None:
    named = set(re.findall(r"HEADGATE_[A-Z_]*[A-Z]", file.read_text(encoding="utf-8")))

    assert named
    assert named <= NAMES


def test_the_manifest_names_settings_that_are_valid_together(container: Any, tmp_path: Path) -> None:
    token = tmp_path / "metrics-token"
    token.write_text("m")
    environ = {each["name"]: each["value"] for each in container["env"]}

    found = default_settings({**environ, "HEADGATE_METRICS_TOKEN_FILE": str(token)})

    assert (found.tls, found.api_port) == (True, container["ports"][0]["containerPort"])


def test_the_manifest_probes_existing_paths(container: Any) -> None:
    probes = [container[name]["httpGet"] for name in ("startupProbe", "livenessProbe", "readinessProbe")]

    assert {each["path"] for each in probes} <= set(PATHS)
    assert {each["scheme"] for each in probes} == {"HTTPS"}
