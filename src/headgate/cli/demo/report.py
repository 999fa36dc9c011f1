"""What the demo prints: the grid of who could do what, each refusal with its reason, and how to go on."""

import sys

from rich.table import Table
from rich.text import Text

from headgate.app.server import Server
from headgate.cli.api.access import fix_text
from headgate.cli.demo.attempts import Result
from headgate.cli.demo.people import Person
from headgate.cli.output import print_drawing, say


def print_grid(people: list[Person], tried: list[Result]) -> None:
    """Print who could do what. A cell that did not end as it should is marked."""
    grid = Table(
        "", *(f"{each.name}\n{each.part.what}" for each in people), title="\nwho could do what", title_justify="left"
    )
    for thing in dict.fromkeys(each.thing for each in tried):
        grid.add_row(thing.title, *(_cell(each) for each in tried if each.thing is thing))
    print_drawing(grid)


def print_refusals(people: list[Person], tried: list[Result]) -> None:
    """Print each refusal as its reader gets it, and the smallest assignment that would allow the action, as the owner gets it."""
    say("\nwhy not: each refusal in its own words, and the assignment that would allow the action")
    for thing in dict.fromkeys(each.thing for each in tried):
        same: dict[tuple[str, str], list[str]] = {}
        for each in tried:
            if each.thing is thing and not each.allowed:
                same.setdefault((_plain(each), _fix(people[0], each)), []).append(each.person.name)
        for (words, fix), names in same.items():
            say(f"  {thing.title.strip()}: {', '.join(names)}\n      {words}{fix and f'{chr(10)}      {fix}'}")


def print_farewell(server: Server, people: list[Person]) -> None:
    """Print where everything is, and a snippet to paste."""
    viewer = next(each for each in people if each.part.what == "viewer")
    say(f"""
serving until Ctrl-C
  API                   {server.url}/api/v1   (described at {server.url}/api/openapi.json)
  Iceberg REST catalog  {server.url}/iceberg
  Spark Connect         sc://localhost:{server.gateway_port}

paste into Python (pip install 'pyspark[connect]'), as {viewer.name} the viewer:

  from pyspark.sql import SparkSession
  spark = SparkSession.builder.remote("sc://localhost:{server.gateway_port}/;token={viewer.token}").getOrCreate()
  spark.table("lake.trusted.delays_by_carrier").show()
  spark.sql("SELECT * FROM lake.secret.salaries").show()

or on the command line, as {people[0].name} the owner:

  export HEADGATE_URL={server.url} HEADGATE_DATA={server.settings.folder}
  {sys.argv[0]} access explain table.select lake.secret.salaries --principal {viewer.name}
  {sys.argv[0]} assignment create viewer lake.secret.salaries --subject {viewer.name}
""")


def _cell(each: Result) -> Text:
    if each.broken:
        return Text("broke", "red")
    answer = "yes" if each.allowed else "no"
    if not each.as_expected:
        return Text(f"{answer}, unexpected", "red")
    return Text(answer, "green" if each.allowed else "")


def _plain(each: Result) -> str:
    """Return the words on one line, without the name that they begin with."""
    return " ".join(each.words.split()).removeprefix(f"{each.person.name}: ")


def _fix(owner: Person, each: Result) -> str:
    if each.thing.question is None:
        return ""
    action, resource = each.thing.question
    body = {"action": action, "resource": resource.format(person=each.person.name), "subject": each.person.name}
    fixes = owner.call("POST", "/questions/explain", body)["fixes"]
    return f"to allow `{action}` on `{body['resource']}`: {fix_text(fixes[0])}" if fixes else ""
