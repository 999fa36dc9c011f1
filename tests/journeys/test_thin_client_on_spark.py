"""`pyspark-client`, PySpark without Java, through the gateway. It has PySpark's module name, so it runs in an environment of its own."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Any

import pytest

from headgate.app.server import Server
from headgate.spark.toolchain.prepare import default_cache
from tests.conftest import IN_CI
from tests.journeys.sql_person import add_viewer, owner_of, remote_of

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

HERE = Path(__file__).parent
LOCK = HERE.parents[1] / "requirements-client.lock"
WITHIN = 240


def run(*command: str | Path, **known: str) -> str:
    environment = {**os.environ, **known}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WITHIN, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def install_client(folder: Path) -> None:
    """Create an environment with the locked client; it takes the other packages from the environment of the tests."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    packages = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    Path(packages, "locked.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--use-pep517", "--require-hashes")
    run(sys.executable, "-m", "pip", "--python", python, "install", *options, "-r", LOCK)


@pytest.fixture(scope="module")
def python() -> Path:
    """Return the interpreter with the client, from the cache or made now."""
    made_from = hashlib.sha256(LOCK.read_bytes() + f"{sys.version}{sysconfig.get_path('purelib')}".encode())
    folder = default_cache(os.environ) / f"pyspark-client-{made_from.hexdigest()[:20]}"
    if not (folder / "complete").exists():
        try:
            install_client(folder)
        except AssertionError as error:
            shutil.rmtree(folder)
            (pytest.fail if IN_CI else pytest.skip)(f"pip could not install the locked pyspark-client: {error}")
        (folder / "complete").touch()
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def found(server: Server, python: Path) -> dict[str, Any]:
    """Return what the program finds as a user who reads one database and can discover nothing else."""
    owner = owner_of(server)
    for name in ("thin", "payroll_of_thin"):
        assert owner.http.post("/databases", json={"name": name}).is_success
    owner.rows("CREATE TABLE lake.thin.flights AS SELECT * FROM VALUES ('AA', 2013), ('UA', 2014) AS t(carrier, year)")
    owner.rows("CREATE TABLE lake.payroll_of_thin.salaries AS SELECT 'top' AS word")
    remote = remote_of(server, add_viewer(server, owner, "thea", "thin"))
    answer = run(python, HERE / "thin_client.py", SPARK_REMOTE=remote)
    return dict(json.loads(answer))


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("has jars", False),
        ("user", "thea"),
        ("rows", [["AA", 2013], ["UA", 2014]]),
        ("parameters", 2),
        ("own rows", [[2, "b", "B"]]),
        ("pandas", [4027]),
        ("catalogs", ["lake"]),
        ("catalogs like", []),
        ("databases", ["thin"]),
        ("tables", ["flights"]),
        ("columns", ["carrier", "year"]),
    ],
)
def test_the_client_reads_rows_and_lists_what_its_user_may_discover(
    found: dict[str, Any], what: str, expected: object
) -> None:
    assert found[what] == expected


def test_the_client_is_of_the_series_of_the_server(found: dict[str, Any]) -> None:
    [locked] = [line for line in LOCK.read_text(encoding="utf-8").splitlines() if line.startswith("pyspark-client==")]

    assert locked.removeprefix("pyspark-client==").split(".")[:2] == found["version"].split(".")[:2]


def test_a_refusal_has_its_sqlstate_and_condition(found: dict[str, Any]) -> None:
    for (state, condition, text), part in zip(
        found["refusals"],
        (
            "there is no `lake.payroll_of_thin.salaries` that you may see",
            "ask owner to assign",
            "the function `reflect`",
        ),
        strict=True,
    ):
        assert (state, condition) == ("42501", "HEADGATE_ACCESS_DENIED"), text
        assert part in text


def test_code_of_the_client_is_refused_with_the_same_sqlstate(found: dict[str, Any]) -> None:
    state, _, text = found["user code"]

    assert state == "42501", text
    assert "Headgate runs no code of users on Spark" in text
