"""The report of the demo: the grid of results, each refusal with its reason, and how to continue."""

import sys

from rich.table import Table
from rich.text import Text

from headgate.app.server import Server
from headgate.cli.api.access import fix_text
from headgate.cli.demo.attempts import Result
from headgate.cli.demo.people import Person
from headgate.cli.output import print_drawing, say


def print_grid(people: list[Person], tried: list[Result]) -> None:
    """Print which person could do what, as a grid. A cell with an unexpected result is marked."""
    grid = Table(
        "",
        *(f"{each.name}\n{each.part.what}" for each in people),
        title="\nwhat each person could do",
        title_justify="left",
    )
    for thing in dict.fromkeys(each.thing for each in tried):
        grid.add_row(thing.title, *(_cell(each) for each in tried if each.thing is thing))
    print_drawing(grid)


def print_refusals(people: list[Person], tried: list[Result]) -> None:
    """Print each refusal as the person sees it, and the smallest assignments that would allow the action, as the owner sees them."""
    say("\nwhy not: the text of each refusal, and the assignments that would allow the action")
    for thing in dict.fromkeys(each.thing for each in tried):
        same: dict[tuple[str, str], list[str]] = {}
        for each in tried:
            if each.thing is thing and not each.allowed:
                same.setdefault((_plain(each), _fix(people[0], each)), []).append(each.person.name)
        for (words, fix), names in same.items():
            say(f"  {thing.title.strip()}: {', '.join(names)}\n      {words}{fix and f'{chr(10)}      {fix}'}")


def print_farewell(server: Server, people: list[Person]) -> None:
    """Print the addresses of the endpoints, and a snippet to paste."""
    viewer = next(each for each in people if each.part.what == "viewer")
    say(f"""
serving until Ctrl-C
  API                   {server.url}/api/v1   (OpenAPI: {server.url}/api/openapi.json)
  Iceberg REST catalog  {server.url}/iceberg
  Spark Connect         sc://localhost:{server.gateway_port}

paste into Python (pip install 'pyspark-client==4.1.*'), as {viewer.name} the viewer:

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
    """Return the text of a refusal on one line, without the name of the person at its begin."""
    return " ".join(each.words.split()).removeprefix(f"{each.person.name}: ")


def _fix(owner: Person, each: Result) -> str:
    if each.thing.question is None:
        return ""
    action, resource = each.thing.question
    body = {"action": action, "resource": resource.format(person=each.person.name), "subject": each.person.name}
    fixes = owner.call("POST", "/questions/explain", body)["fixes"]
    return f"to allow `{action}` on `{body['resource']}`: {fix_text(fixes[0])}" if fixes else ""
