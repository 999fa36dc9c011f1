"""The scripts of `examples/scripts` run unchanged, as a user with two SQL privileges; another user is refused."""

import os
import re
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headgate.app.background import run_in_background
from headgate.app.settings.settings import Settings
from headgate.cli.demo.people import Person, Persona
from headgate.control.identity.tokens import IssueToken, format_token
from headgate.control.kernel.ids import new_id
from headgate.facts.ids import PrincipalId, TokenId
from headgate.spark.toolchain.prepare import Toolchain, default_cache

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "examples" / "scripts"
MODELS = ROOT / "docs" / "howto" / "machine-learning.md"
PROGRAM = re.compile(r"```python\n(.*?)```", re.DOTALL)
FLIGHTS = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
for name in ("raw", "trusted"):
    spark.sql(f"CREATE DATABASE {name}")
spark.sql("CREATE TABLE raw.flights AS SELECT 'C' || id % 3 AS carrier, id AS distance, id % 7 AS dep_delay FROM range(50)")
spark.stop()
"""
"""A program that creates the table that the page about models reads."""
LISTED = re.compile(r"\| \[(\w+)\.py\]\(\1\.py\) \|")
LINES: dict[str, tuple[str, ...]] = {
    "cdc_pipeline": (
        "| 1|green tea| 3.90| true|",
        "| 3|skipped|no changes|",
        "in February: ['coffee', 'green tea']",
        "handled: handled",
        "versions: 1=2 2=2 3=1",
    ),
    "churn_model": (
        "training rows: 465 test rows: 135",
        "area under ROC: 0.999, accuracy: 0.985",
        "stored predictions: True",
    ),
    "data_quality": (
        "duplicates: 10",
        "quantiles: [240.0, 480.0, 720.0]",
        "outliers: [200]",
        "sampled cities: ['Berlin', 'Paris']",
        "split is complete: True",
        "rules broken: 3 of 4",
    ),
    "dbt_like_job": (
        "PASS unique_fct_orders_order_id",
        "columns of fct_orders: order_id, customer_id, country, status, amount, ordered_at, loaded_at",
        "| 3| FI| false|",
        "| 3| DE| true|",
        "Done. PASS=10 ERROR=0 orders=6 customer versions=5",
    ),
    "iceberg_quick_start": (
        "Trips after the merge: 6",
        "main 7, audit 9, end-of-day 7",
        "Trips after the audit: 9",
        "Trips after the rollback: 6",
        "| 1|1000371|1.7999999523162842|15.32|NULL| NULL|",
    ),
    "notebook_export": (
        "partitionOverwriteMode = dynamic",
        "january after the overwrite: 10",
        "2024-02-01 140",
        "shares add up: 1.0",
    ),
    "pandas_api": (
        "(1008, 5) ['trip', 'line', 'started', 'minutes', 'passengers']",
        "rush: 126 late: 306",
        "busiest hours: [23, 22, 21]",
        "mode: 0 median: 21.0 std: 6.639",
        "rolling: [1.0, 2.0, 3.0]",
        "[Row(name='blue', passengers=11592), Row(name='green', passengers=7728), Row(name='red', passengers=3864)]",
    ),
    "pandas_user": (
        "missing rain: 1",
        "groups: 10 rows: 20000",
        "arrow: 5 ['station', 'day', 'temperature', 'rain', 'warm']",
        "empty: 0 struct<id:bigint>",
    ),
    "spark_quick_start": ("Name: Justin", "Lines with Spark: 1", "[Row(max(numWords)=11)]", "Saved fruits: 8"),
    "streaming_job": (
        "input rows: 4",
        "| 2| watch| 250.0|2024-05-01 10:40:00| dear|",
        "ticks arrived: True",
        "orders enriched: 4",
    ),
    "table_maintenance": (
        "tables: ['accounts', 'clicks'] views: ['rich_accounts']",
        "CREATE TABLE lake.maintenance.clicks (",
        "|2024-03-02| 4|",
        "accounts: 4 files before, 1 after, snapshots kept: 1",
    ),
    "tpch_report": (
        "customers without an order: 20",
        "parts in the tree: 900",
        (
            'a document: {"o_orderkey":1,"o_custkey":8,"o_orderdate":"1995-01-14","o_orderpriority":"2-HIGH",'
            '"lines":[{"line":1,"quantity":2.00},{"line":2,"quantity":3.00}]}'
        ),
        "total revenue: 527429.75",
    ),
}
"""Lines that each script prints, besides others; each run of blanks is one blank."""


@pytest.fixture(scope="module")
def address(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """Return a function that returns the address of Spark for a user: `dana` may create and list databases, others may do nothing."""
    assert toolchain.guard_jar.exists()
    folder = tmp_path_factory.mktemp("scripts") / "data"
    settings = Settings(folder, default_cache({}), None, api_port=0, gateway_port=0, model="onehouse")
    with run_in_background(settings, print) as server:
        owner = Person(Persona("owner", "", ()), settings.owner_token.read_text("utf-8").strip(), server.url, 0)
        owner.call("POST", "/projects", {"name": "engineering"})
        owner.call("POST", "/resources", {"type": "lake", "parent": "engineering", "name": "lake"})

        def joined(name: str) -> str:
            user = owner.call("POST", "/users", {"name": name, "role": "member"})["id"]
            owner.call("POST", "/assignments", {"subject": name, "role": "member", "resource": "engineering"})
            token, secret = TokenId(new_id("t")), secrets.token_urlsafe(32)
            server.deployment.home.control.execute(IssueToken(token, secret, PrincipalId(user)), None)
            return f"sc://localhost:{server.gateway_port}/;token={format_token(token, secret)}"

        addresses = {name: joined(name) for name in ("dana", "nina")}
        for role in ("CREATE_DATABASE", "DESCRIBE"):
            owner.call("POST", "/assignments", {"subject": "dana", "role": role, "resource": "lake"})
        yield addresses.__getitem__
        owner.close()


def run(script: Path, address: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script with an address of Spark in its environment, until it ends."""
    return subprocess.run(
        [sys.executable, script],
        cwd=folder,
        env=os.environ | {"SPARK_REMOTE": address},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def test_every_script_is_listed() -> None:
    scripts = {file.stem for file in SCRIPTS.glob("*.py")}

    assert scripts == set(LISTED.findall((SCRIPTS / "README.md").read_text(encoding="utf-8")))


@pytest.mark.parametrize("script", LINES)
def test_a_script_runs_unchanged(address: Callable[[str], str], script: str, tmp_path: Path) -> None:
    ran = run(SCRIPTS / f"{script}.py", address("dana"), tmp_path)

    assert ran.returncode == 0, ran.stdout + ran.stderr
    printed = {" ".join(line.split()) for line in ran.stdout.splitlines()}
    assert [line for line in LINES[script] if line not in printed] == [], ran.stdout


def test_the_program_of_the_page_about_models_runs_and_ends(address: Callable[[str], str], tmp_path: Path) -> None:
    [program] = PROGRAM.findall(MODELS.read_text(encoding="utf-8"))

    for name, text in (("flights.py", FLIGHTS), ("model.py", program)):
        (tmp_path / name).write_text(text, encoding="utf-8")
        ran = run(tmp_path / name, address("dana"), tmp_path)
        assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_script_ends_with_a_refusal_for_a_user_without_privileges(
    address: Callable[[str], str], tmp_path: Path
) -> None:
    ran = run(SCRIPTS / "spark_quick_start.py", address("nina"), tmp_path)

    assert ran.returncode == 1
    assert re.search(r"nina: .*\?action=lake\.create_database&resource=lake", ran.stderr), ran.stderr
