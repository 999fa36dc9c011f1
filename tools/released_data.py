"""Write the archive of a release: a data folder and exports that this version wrote, and the answers that it gave.

`tests/compatibility/test_released_versions.py` opens the archives of all releases with the current code, so each release
needs one. Run `python -m tools.released_data` with the code of the release; it starts Spark and takes some minutes. The
archive also contains the keys and tokens of the data folder, which no other deployment uses.
"""

import argparse
import gzip
import io
import json
import os
import random
import re
import shutil
import sys
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NoReturn

import pyarrow as pa
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

from headgate.app.background import run_in_background
from headgate.app.deployment import open_deployment
from headgate.cli.demo.people import Person, Persona
from headgate.control.kernel.run_queue import ENDED_STATES, SUCCEEDED, RunFilter
from headgate.control.kernel.vocabulary import shipped_vocabulary
from headgate.control.models.shipped_models import shipped_model
from headgate.control.organizations.organization import Organization
from headgate.decision.types import Question
from headgate.facts.caller import Caller
from headgate.facts.ids import PrincipalId, ResourceId
from headgate.spark.toolchain.prepare import default_cache, default_jars_folder
from headgate.store import open_stores
from tests.app.deployment_harness import DeploymentHarness, OrganizationClient, settings_in, world_in
from tests.app.generated_organization import scene
from tools.release import ARCHIVES, project_version

PARENT: Final = Path("/tmp")  # noqa: S108 (the files of the tables name it; the tests replace it)
"""The folder in which the data folder is written; the same for every archive."""
PASSWORD: Final = "correct horse battery"  # noqa: S105 (the password of the users in the data folder)
TREES: Final[Mapping[str, str]] = {"onehouse": "datamesh"}
"""Model -> the model of the ownership tree of its organization."""
SCHEMA: Final = Schema(NestedField(1, "n", LongType()), NestedField(2, "part", StringType()))
BY_PART: Final = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "part"))
STATEMENTS: Final = (
    """CREATE TABLE lake.flights.deleted (n BIGINT, part STRING, d DATE) USING iceberg PARTITIONED BY (days(d))
    TBLPROPERTIES ('write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read')""",
    """INSERT INTO lake.flights.deleted
    SELECT id, concat('p', id % 3), DATE'2026-01-01' + CAST(id % 4 AS INT) FROM range(200)""",
    "DELETE FROM lake.flights.deleted WHERE n % 5 = 0",
    "UPDATE lake.flights.deleted SET part = 'new' WHERE n = 7",
    "CREATE VIEW lake.flights.seen AS SELECT n FROM lake.flights.deleted WHERE n < 10",
)
QUERY: Final = {
    "kind": "query",
    "name": "totals",
    "inputs": ["lake.flights.t"],
    "into": "lake.trusted.totals",
    "sql": "SELECT part, sum(n) AS total FROM lake.flights.t GROUP BY part",
}
ROWS: Final = {"lake.flights.t": list(range(27)), "lake.flights.deleted": [n for n in range(200) if n % 5]}
"""Table -> the values of `n` that all the writes leave."""
RUNS: Final = 2
QUESTIONS: Final = 1500
"""The maximum number of questions to each organization."""
LONGEST_RUN: Final = 300.0
"""Seconds."""
LEFT_OUT: Final = frozenset(("lock", "logs", "scratch"))
"""Files and folders of the data folder that only a running server needs."""

_VERSION: Final = re.compile(r"\w[\w.-]*", re.ASCII)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the archive; return the exit status."""
    parser = argparse.ArgumentParser(prog="released_data", description="Write the archive of a release.")
    parser.add_argument("version", nargs="?", default=project_version(), help="default: the version in pyproject.toml")
    parser.add_argument("--into", type=Path, default=ARCHIVES, metavar="FOLDER", help="default: %(default)s")
    given = parser.parse_args(arguments)
    if not _VERSION.fullmatch(given.version):
        _fail(f"`{given.version}` is not a version; use letters, digits, `.`, `-` and `_`")
    if not given.into.is_dir():
        _fail(f"there is no folder `{given.into}`; create it first")
    archive, name = given.into / f"{given.version}.tar.gz", f"headgate-{given.version}"
    if archive.exists():
        _fail(f"`{archive}` exists; delete it first, or name another version")
    with _new_folder(PARENT / name) as folder:
        _say(f"writing `{archive}`, with data in `{folder}`; this takes some minutes")
        write_data(folder)
        archive.write_bytes(pack(folder))
    _say(f"`{archive}` is written ({archive.stat().st_size:,} bytes); commit it")
    return 0


def write_data(folder: Path) -> None:
    """Write the data folder, the exports and `answers.json` into an empty folder."""
    with world_in(folder, founding=False) as world:
        clients = create_organizations(world)
        for name in ("main", "acme-nekt"):
            _say(f"writing the tables of `{name}`")
            write_tables(world, clients[name])
        tokens = {name: dict(client.tokens) for name, client in clients.items()}
    run_on_spark(folder, tokens["main"]["owner"])
    _say("asking the questions and exporting the organizations")
    settings, organizations = settings_in(folder), dict[str, Any]()
    with closing(open_deployment(settings)) as deployment:
        for name, of_name in tokens.items():
            organization = deployment.organizations.find(name)
            organizations[organization.id] = {"name": name, "tokens": of_name, **answers_of(organization)}
    with closing(open_stores(settings.folder, settings.seal_key)) as stores:
        for id, answers in organizations.items():
            lines = [f"{line}\n" for line in stores.export(ResourceId(id))]
            (folder / f"{answers['name']}.jsonl").write_text("".join(lines), encoding="utf-8")
    said = {"organizations": organizations, "rows": ROWS}
    (folder / "answers.json").write_text(json.dumps(said, indent=1), encoding="utf-8")


def create_organizations(world: DeploymentHarness) -> dict[str, OrganizationClient]:
    """Create users, the home organization `main` and an organization of each model; return the clients by name."""
    accounts = world.deployment.auth_services.authentication
    accounts.register("Ann", login="ann", password=PASSWORD, email="ann@acme.example", verified=True)
    accounts.register("Ben", login="ben", password=PASSWORD)
    for database in ("raw", "trusted"):
        world.create("/databases", {"name": database})
    for user, role in (("vic", "viewer"), ("ed", "editor")):
        world.add(user)
        world.result("owner", "POST", "/assignments", {"subject": user, "role": role, "resource": "lake.raw"})
    clients: dict[str, OrganizationClient] = {"main": world}
    for model in shipped_vocabulary().models:
        _say(f"creating the organization `acme-{model}`")
        clients[f"acme-{model}"] = world.organization(f"acme-{model}", model, TREES.get(model))
        scene(clients[f"acme-{model}"], shipped_model(model).model)
    for client in clients.values():
        client.create("/requests", {"action": "table.select", "resource": "lake.raw.any", "purpose": "a report"})
    return clients


def write_tables(world: DeploymentHarness, client: OrganizationClient) -> None:
    """Write a table with several snapshots and an empty one, by a client of the catalog."""
    base = str(world.http.base_url).rstrip("/")
    catalog = RestCatalog("any", uri=f"{base}/o/{client.opened.id}/iceberg", token=client.tokens["owner"])
    catalog.create_namespace("flights")
    table = catalog.create_table("flights.t", SCHEMA, partition_spec=BY_PART)
    for first in (0, 10, 20):
        numbers = range(first, first + 10)
        table.append(pa.table({"n": list(numbers), "part": [f"p{each % 3}" for each in numbers]}))
    table.delete("n > 26")
    catalog.create_table("flights.empty", SCHEMA)


def run_on_spark(folder: Path, token: str) -> None:
    """Serve the deployment with Spark; write a table with position deletes and a view, and run a pipeline."""
    cache, jars = default_cache(os.environ), default_jars_folder(os.environ)
    with run_in_background(replace(settings_in(folder), cache=cache, jars_folder=jars), _say) as server:
        owner = Person(Persona("owner", "", ()), token, server.url, server.gateway_port)
        with closing(owner):
            for statement in STATEMENTS:
                _say(" ".join(statement.split()))
                owner.spark.sql(statement).collect()
            owner.call("PUT", "/pipelines/totals", QUERY)
            for _ in range(RUNS):
                _say("running the pipeline `totals`")
                _await_run(owner, owner.call("POST", "/pipelines/totals/runs")["id"])
            for name, numbers in ROWS.items():
                if sorted(row["n"] for row in owner.spark.table(name).collect()) != numbers:
                    _fail(f"the rows of `{name}` are not those that were written; the archive would be wrong")


def answers_of(organization: Organization) -> dict[str, Any]:
    """Return the state of an organization, and the decisions of questions that are chosen at random."""
    facts, control, store = organization.control.snapshot, organization.control, organization.store
    runs, own_actions = list(store.runs(RunFilter())), shipped_vocabulary().of
    askable = [
        (principal, action, resource.id)
        for principal in sorted(facts.principals)
        for _, resource in sorted(facts.resources.items())
        for action in own_actions(resource.type)
    ]
    chance = random.Random(organization.id)  # noqa: S311 (no secret)
    questions = chance.sample(askable, min(QUESTIONS, len(askable)))

    def is_allowed(principal: PrincipalId, action: str, resource: ResourceId) -> bool:
        return control.ask(Question(Caller(principal), action, resource)).allowed

    return {
        "revision": facts.revision,
        "model": facts.model,
        "counts": [len(each) for each in (facts.principals, facts.resources, facts.groups, facts.tokens)],
        "decisions": [[*each, is_allowed(*each)] for each in questions],
        "tables": sorted(".".join(facts.full_name(each.table)) for each in store.pointers()),
        "runs": sorted(f"{row.pipeline} {row.state}" for row in runs),
        "log_lines": [len(store.log_lines(row.run)) for row in runs],
    }


def pack(folder: Path) -> bytes:
    """Return the archive of a folder. Folders with equal files give equal bytes: files are sorted, owners and times are left out."""
    left_out = {folder / "data" / each for each in LEFT_OUT} | {folder / "cache"}
    files = [each for each in sorted(folder.rglob("*")) if left_out.isdisjoint((each, *each.parents))]
    packed = io.BytesIO()
    with gzip.GzipFile("", "wb", fileobj=packed, mtime=0) as file, tarfile.open(fileobj=file, mode="w") as archive:
        for each in (folder, *files):
            archive.add(each, str(each.relative_to(folder.parent)), recursive=False, filter=_without_owner_and_time)
    return packed.getvalue()


def _without_owner_and_time(member: tarfile.TarInfo) -> tarfile.TarInfo:
    return member.replace(uid=0, gid=0, uname="root", gname="root", mtime=0, deep=False)


def _await_run(owner: Person, run: str) -> None:
    deadline = time.monotonic() + LONGEST_RUN
    while (state := owner.call("GET", f"/runs/{run}")["state"]) not in ENDED_STATES:
        if time.monotonic() > deadline:
            _fail(f"the run `{run}` did not end within {LONGEST_RUN:.0f} s; try again")
        time.sleep(0.5)
    if state != SUCCEEDED:
        _fail(f"the run `{run}` is {state}; see the output above")


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """Create a folder, and delete it at the end of the block."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        _fail(f"`{folder}` exists; delete it, unless another process of this tool uses it")
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _fail(fault: str) -> NoReturn:
    sys.exit(f"released_data: {fault}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
