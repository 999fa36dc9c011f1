"""The lakehouse of the demo, created through the public endpoints. Objects that exist already are kept."""

from contextlib import suppress
from functools import partial
from importlib.resources import files
from pathlib import Path

import yaml

from headgate.app.server import Server
from headgate.cli.demo.data import DemoError
from headgate.cli.demo.people import PARTS, AttemptRefusedError, Person
from headgate.cli.output import say
from headgate.cli.run_progress import UNDER_WAY, follow

PIPELINES = ("load_flights", "delays_by_carrier")
SALARIES = (
    "CREATE TABLE {} AS SELECT * FROM VALUES ('eve', 250000.0D), ('mallory', 180000.0D), ('trent', 95000.0D) "
    "AS t(emp, amount)"
)


def make_people(server: Server) -> list[Person]:
    """Create the four people, except those that exist already, and return them, each with a token for one day."""
    token = server.settings.owner_token.read_text(encoding="utf-8").strip()
    owner = Person(PARTS[0], token, server.url, server.gateway_port)
    people = [owner]
    for part in PARTS[1:]:
        owner.ensure("POST", "/users", {"name": part.name, "role": "member"})
        issued = owner.call("POST", "/tokens", {"principal": part.name, "label": "demo", "days": 1})
        people.append(Person(part, issued["token"], server.url, server.gateway_port))
    return people


def make_lakehouse(people: list[Person], folder: Path) -> None:
    """Create databases, a connection, assignments, two pipelines that run as the editor, and a secret table."""
    owner, editor = people[0], people[1]
    for name in PIPELINES:
        end_runs(owner, name)
    for name in ("raw", "trusted", "secret"):
        owner.ensure("POST", "/databases", {"name": name})
    # Created again: an earlier demo on this data may have had its files in another folder.
    with suppress(AttemptRefusedError):
        owner.call("DELETE", "/connections/nycflights13")
    owner.call("POST", "/connections", {"name": "nycflights13", "folder": str(folder)})
    for person in people:
        for role, place in person.part.holds:
            owner.call("POST", "/assignments", {"subject": person.name, "role": role, "resource": place})
            say(f"  {person.name} holds {role} on {place}")
    for name in PIPELINES:
        run_pipeline(editor, name)
    there = {each["name"] for each in owner.call("GET", "/resources?type=table&limit=500")["items"]}
    for copied in sorted(there & {f"lake.trusted.airlines_of_{person.name}" for person in people}):
        owner.spark.sql(f"DROP TABLE {copied}")
    _make_missing(owner, there, "lake.secret.salaries", SALARIES.format("lake.secret.salaries"))
    for person in people:
        table = f"lake.trusted.scratch_{person.name}"
        _make_missing(owner, there, table, f"CREATE TABLE {table} (n INT)")


def end_runs(person: Person, name: str) -> None:
    """Cancel the unfinished runs of a pipeline of an interrupted demo: the server would continue them."""
    with suppress(AttemptRefusedError):  # no pipeline has this name yet
        for run in person.call("GET", "/runs", pipeline=name)["items"]:
            if run["state"] in UNDER_WAY:
                person.call("POST", f"/runs/{run['run']}/cancel")
                say(f"  an unfinished run of {name} from an earlier demo is cancelled")


def run_pipeline(person: Person, name: str) -> None:
    """Save a pipeline, run it, and show its log and progress. Raises `DemoError` unless the run succeeds."""
    source = files("headgate.cli.demo").joinpath(f"{name}.yaml").read_text(encoding="utf-8")
    person.call("PUT", f"/pipelines/{name}", yaml.safe_load(source))
    say(f"\npipeline {name}, run as {person.name}")
    run = person.call("POST", f"/pipelines/{name}/runs")["run"]
    document = follow(partial(person.call, "GET"), run)
    if document["state"] != "succeeded":
        raise DemoError(f"the run of the pipeline `{name}` {document['state']}; its log above shows the reason")


def _make_missing(owner: Person, there: set[str], table: str, statement: str) -> None:
    if table not in there:
        owner.spark.sql(statement)
