"""The chapter under the Nekt model.

Users hold levels on layers and tables, and a pipeline is only as accessible as the least accessible of its tables.
"""

import time
from pathlib import Path
from typing import Any

import httpx

from examples.airline.outside import WEATHER_KEY, Outside, repaint
from examples.airline.people import Person, ended
from examples.airline.telling import REFUSED, Outcome, Story
from examples.airline.world import World

_REPAINTED = 10
_SEATS = 99


def tell(world: World) -> None:
    """Run the chapter."""
    story, outside = world.story, world.outside
    story.chapter(
        "Under the Nekt model: ada owns the workspace, ed moves data, dee works in raw, vic looks, sam is new"
    )
    ada = world.owner("ada", "nekt")
    ed, dee, vic, sam = (world.joined(ada, name) for name in ("ed", "dee", "vic", "sam"))
    people = (ada, ed, dee, vic, sam)
    try:
        _make(story, ada, outside)
        _load(story, ed)
        _refine(story, ed, outside.files)
        _deliver(story, ed, outside)
        _refuse(story, (ed, dee, vic, sam))
        _lose_rights(story, ada, ed, dee)
        _break(story, ed, outside.files)
    finally:
        for person in people:
            person.close()


def _make(story: Story, ada: Person, outside: Outside) -> None:
    for layer in ("raw", "trusted"):
        story.step("ada", f"creates the layer {layer}", lambda name=layer: _called(ada, "/databases", {"name": name}))
    connections: dict[str, Any] = {
        "airline_files": {"folder": str(outside.files)},
        "exports": {"folder": str(outside.exports)},
        "weather_service": {
            "http": {"base_url": outside.weather, "headers": {"authorization": f"Bearer {WEATHER_KEY}"}}
        },
    }
    if outside.postgres is not None:
        database = {"host": "127.0.0.1", "port": outside.postgres, "database": "postgres", "user": "postgres"}
        connections["reporting"] = {"postgresql": {**database, "password": "not asked for here"}}
    for name, place in connections.items():
        story.step(
            "ada",
            f"creates the connection {name}",
            lambda n=name, p=place: _called(ada, "/connections", {"name": n, **p}),
        )
    held = [("ed", "editor", "lake.raw"), ("ed", "editor", "lake.trusted"), ("dee", "editor", "lake.raw")]
    held += [("vic", "viewer", "lake.trusted"), *(("ed", "connection_user", name) for name in connections)]
    for grant in held:
        story.step("ada", "gives", lambda g=grant: ada.give(*g))


def _load(story: Story, ed: Person) -> None:
    story.step("ed", "saves load_flights", lambda: ed.save("load_flights"))
    story.step("ed", "runs load_flights", lambda: ed.run("load_flights"), "succeeded")
    story.step("ed", "counts the flights", lambda: _expect(ed, "SELECT count(*) FROM lake.raw.flights", 336776))
    story.step("ed", "saves delays_by_carrier, to run after it", lambda: ed.save("delays_by_carrier"))
    story.step("ed", "runs load_flights again", lambda: ed.run("load_flights"), "succeeded")
    story.step(
        "--", "delays_by_carrier runs by itself", lambda: _by_itself(ed, "delays_by_carrier", "after"), "succeeded"
    )
    story.step("ed", "saves load_weather, to run every minute", lambda: ed.save("load_weather"))
    story.step("--", "load_weather runs by itself", lambda: _by_itself(ed, "load_weather", "schedule"), "succeeded")
    story.step("ed", "deactivates load_weather", lambda: _called(ed, "/pipelines/load_weather/deactivate"))
    story.step("ed", "counts the weather", lambda: _expect(ed, "SELECT count(*) FROM lake.raw.weather", 26115))


def _refine(story: Story, ed: Person, files: Path) -> None:
    for name in ("delays_by_weather", "busiest_planes", "planes_history"):
        story.step("ed", f"saves {name}", lambda n=name: ed.save(n))
        story.step("ed", f"runs {name}", lambda n=name: ed.run(n), "succeeded")
    repaint(files / "planes.csv", _SEATS, _REPAINTED)
    for name in ("load_flights", "planes_history", "busiest_planes"):
        story.step(
            "ed", f"runs {name}, with {_REPAINTED} planes delivered again", lambda n=name: ed.run(n), "succeeded"
        )
    versions = "SELECT count(*) FROM lake.trusted.planes_history WHERE NOT is_current"
    story.step("ed", "counts the versions that are no longer current", lambda: _expect(ed, versions, _REPAINTED))
    planes = f"SELECT count(*) FROM lake.raw.planes WHERE seats = {_SEATS}"
    story.step("ed", "counts the planes with other seats", lambda: _expect(ed, planes, _REPAINTED))


def _deliver(story: Story, ed: Person, outside: Outside) -> None:
    story.step("ed", "saves delays_chart", lambda: ed.save("delays_chart"))
    story.step("ed", "runs delays_chart", lambda: ed.run("delays_chart"), "succeeded: 16 rows")
    story.step("ed", "saves delays_to_parquet", lambda: ed.save("delays_to_parquet"))
    for _ in range(2):
        story.step("ed", "runs delays_to_parquet", lambda: ed.run("delays_to_parquet"), "succeeded")
        story.step("--", "the files hold each carrier once", lambda: _rows_in(outside.exports / "delays_by_carrier"))
    if outside.postgres is None:
        story.missing("delays_to_postgres", "this machine has no PostgreSQL")
        return
    story.step("ed", "saves delays_to_postgres", lambda: ed.save("delays_to_postgres"))
    for _ in range(2):
        story.step("ed", "runs delays_to_postgres", lambda: ed.run("delays_to_postgres"), "succeeded")
        story.step("--", "the database holds each carrier once", lambda: _rows_at(outside.postgres))


def _refuse(story: Story, people: tuple[Person, ...]) -> None:
    ed, dee, vic, sam = people
    story.step(
        "dee",
        "runs load_flights: its tables are in raw, where she may edit",
        lambda: dee.run("load_flights"),
        "succeeded",
    )
    story.step(
        "dee", "runs delays_by_carrier: she sees nothing of trusted", lambda: dee.run("delays_by_carrier"), REFUSED
    )
    story.step("dee", "saves load_flights: she may not use the connection", lambda: dee.save("load_flights"), REFUSED)
    story.step(
        "vic",
        "reads what delays_by_carrier wrote",
        lambda: _expect(vic, "SELECT count(*) FROM lake.trusted.delays_by_carrier", 16),
    )
    story.step("vic", "runs delays_by_carrier: he sees nothing of raw", lambda: vic.run("delays_by_carrier"), REFUSED)
    story.step("sam", "looks for pipelines", lambda: str(len(sam.call("GET", "/pipelines")["items"])), "done: 0")
    story.step("sam", "runs load_flights", lambda: sam.run("load_flights"), REFUSED)
    undeclared = {"sql": "SELECT name AS carrier FROM lake.raw.airlines WHERE EXISTS (SELECT 1 FROM lake.raw.planes)"}
    widened = {**undeclared, "inputs": ["lake.raw.airlines"]}
    story.step(
        "ed",
        "has delays_by_carrier read a table that it does not declare",
        lambda: _undeclared(ed, widened),
        "invalid: add it to `inputs`",
    )


def _lose_rights(story: Story, ada: Person, ed: Person, dee: Person) -> None:
    story.step("ada", "revokes ed's role on trusted", lambda: ada.take("ed", "editor", "lake.trusted"))
    story.step(
        "ada", "runs delays_by_carrier, whose runs use ed's privileges", lambda: ada.run("delays_by_carrier"), REFUSED
    )
    story.step("ada", "assigns the role again", lambda: ada.give("ed", "editor", "lake.trusted"))
    story.step("ada", "runs delays_by_carrier again", lambda: ada.run("delays_by_carrier"), "succeeded")
    story.step("ed", "saves every_pair, which takes long", lambda: ed.save("every_pair"))
    story.step("ada", "revokes ed's role on raw while every_pair runs", lambda: _taken_while_running(ada, ed), REFUSED)
    story.step("ada", "looks for what every_pair wrote", lambda: _tables(ada, "every_pair"), "done: 0")
    story.step("ada", "assigns the role again", lambda: ada.give("ed", "editor", "lake.raw"))
    story.step("dee", "saves copy_of_airlines", lambda: dee.save("copy_of_airlines"))
    story.step("ada", "removes dee", lambda: _called(ada, "/users/dee", method="DELETE"))
    story.step(
        "ada",
        "runs copy_of_airlines, whose runs use dee's privileges",
        lambda: _waits(ada, "copy_of_airlines"),
        "queued: run-as",
    )
    story.step(
        "ed", "saves copy_of_airlines, and the run continues", lambda: _goes_on(ed, "copy_of_airlines"), "succeeded"
    )


def _break(story: Story, ed: Person, files: Path) -> None:
    (files / "airports.csv").rename(files / "airports.gone")
    story.step(
        "ed", "runs load_flights without one of its files", lambda: ed.run("load_flights"), "failed: airports.csv"
    )
    (files / "airports.gone").rename(files / "airports.csv")
    story.step(
        "ed",
        "counts the airports: they are as they were",
        lambda: _expect(ed, "SELECT count(*) FROM lake.raw.airports", 1458),
    )


def _called(person: Person, path: str, body: Any = None, method: str = "POST") -> None:
    person.call(method, path, body)


def _by_itself(person: Person, pipeline: str, trigger: str) -> Outcome:
    return person.until_ended(person.first_run(pipeline, trigger)["run"])


def _expect(person: Person, statement: str, value: int) -> Outcome:
    found = person.value(statement)
    return Outcome("done" if found == value else "wrong", f"{found:,}")


def _rows_in(folder: Path) -> Outcome:
    from pyarrow import dataset

    count = dataset.dataset(folder, format="parquet", exclude_invalid_files=True).count_rows()
    return Outcome("done" if count == 16 else "wrong", f"{count} rows")  # noqa: PLR2004 (the airlines)


def _rows_at(port: int | None) -> Outcome:
    import psycopg

    with psycopg.connect(f"host=127.0.0.1 port={port} user=postgres dbname=postgres") as connection:
        (count,) = connection.execute("SELECT count(*) FROM public.delays_by_carrier").fetchone() or (0,)
    return Outcome("done" if count == 16 else "wrong", f"{count} rows")  # noqa: PLR2004 (the airlines)


def _undeclared(ed: Person, changes: dict[str, Any]) -> Outcome:
    # The run of load_flights by dee has triggered the pipeline, and a pipeline cannot be changed while it runs.
    ed.idle("delays_by_carrier")
    try:
        return Outcome("saved", ed.save("delays_by_carrier", changes))
    except httpx.HTTPStatusError as error:
        return Outcome("invalid", str(error))


def _taken_while_running(ada: Person, ed: Person) -> Outcome:
    run = ed.start("every_pair")
    ada.until(run, lambda shown: shown["state"] == "running" and shown["progress"].get("tasks"))
    ada.take("ed", "editor", "lake.raw")
    began = time.monotonic()
    shown = ada.until(run, lambda shown: shown["state"] not in ("queued", "running"))
    outcome = ended(shown)
    return Outcome(outcome.state, f"after {time.monotonic() - began:.1f} s: {outcome.words}")


def _tables(person: Person, name: str) -> str:
    found = person.call("GET", "/resources?type=table&limit=500")["items"]
    return str(sum(each["name"].endswith(f".{name}") for each in found))


def _waits(person: Person, pipeline: str) -> Outcome:
    run = person.start(pipeline)
    shown = person.until(run, lambda shown: shown.get("why"))
    return Outcome(shown["state"], shown["why"])


def _goes_on(person: Person, pipeline: str) -> Outcome:
    person.save(pipeline)
    (run,) = (each["run"] for each in person.call("GET", "/runs", pipeline=pipeline)["items"])
    return person.until_ended(run)
