"""The chapter under the Onehouse model: roles on compute and pipelines, SQL privileges on data."""

from collections.abc import Callable
from typing import Final

from examples.airline.outside import Outside, deliver_late
from examples.airline.people import Person, ended
from examples.airline.telling import REFUSED, Outcome, Story
from examples.airline.world import World

_ORGANIZATION: Final = "skies"
_PROJECT, _TABLE, _PART = "late", "lake.late.flights", 500
_SERVICE: Final = f"{_TABLE}.compact_flights"
_COUNT: Final = f"SELECT count(*) FROM {_TABLE}"


def tell(world: World) -> None:
    """Run the chapter."""
    story = world.story
    story.chapter(
        "Under the Onehouse model: omar runs the account, sara captures, tess tends tables, dan asks, nina looks on"
    )
    omar = world.founded(_ORGANIZATION, "onehouse", "omar")
    sara, tess, dan, nina = (world.joined(omar, name) for name in ("sara", "tess", "dan", "nina"))
    people = (omar, sara, tess, dan, nina)
    try:
        _make(story, omar, world.outside)
        _capture(story, (omar, sara, dan, nina), world.outside)
        _tend(story, (omar, tess, dan))
        _ask(story, (omar, dan, nina))
        _restart(story, (omar, sara), world.outside)
    finally:
        for person in people:
            person.close()


def _make(story: Story, omar: Person, outside: Outside) -> None:
    def makes(what: str, path: str, body: dict[str, str]) -> None:
        story.step("omar", f"creates {what}", lambda: _did(omar, path, body))

    makes("the project", "/projects", {"name": _PROJECT})
    makes("the cluster small", "/clusters", {"name": "small", "parent": _PROJECT})
    makes("the lake", "/resources", {"type": "lake", "parent": _PROJECT, "name": "lake"})
    makes("the database late", "/databases", {"name": "late"})
    makes(
        "the connection late_folder",
        "/connections",
        {"name": "late_folder", "folder": str(outside.late), "project": _PROJECT},
    )
    for name in ("sara", "tess", "dan"):
        story.step("omar", "gives", lambda n=name: omar.give(n, "member", _PROJECT))
    held = [("sara", "user", "small"), ("sara", "CREATE_TABLE", "lake.late"), ("sara", "INSERT", "lake.late")]
    held += [("sara", "connection_user", "late_folder"), ("tess", "user", "small")]
    for grant in held:
        story.step("omar", "gives", lambda g=grant: omar.give(*g))
    story.step("omar", "saves the source late_files", lambda: omar.save("late_files", place=_PROJECT))
    story.step("omar", "assigns sara a role on it", lambda: omar.give("sara", "user", "late_files"))


def _capture(story: Story, people: tuple[Person, ...], outside: Outside) -> None:
    omar, sara, dan, nina = people
    deliver_late(outside.files / "flights.csv", outside.late, 0, _PART)
    story.step(
        "dan",
        "saves late_flights: he may not use the cluster",
        lambda: dan.save("late_flights", place=_PROJECT),
        REFUSED,
    )
    story.step("sara", "saves late_flights", lambda: sara.save("late_flights", place=_PROJECT))
    story.step("nina", "runs late_flights: she is in no project", lambda: nina.run("late_flights"), REFUSED)
    story.step("sara", "runs late_flights, until it is paused", lambda: _flows(sara, omar, _PART))
    deliver_late(outside.files / "flights.csv", outside.late, 1, _PART)
    story.step("--", "a second file arrives, and its flights with it", lambda: _until_there(omar, 2 * _PART))
    story.step("dan", "pauses late_flights", lambda: _did(dan, "/pipelines/late_flights/pause"), REFUSED)
    story.step("sara", "pauses late_flights, and its run waits", lambda: _paused(sara), "queued: pause")
    deliver_late(outside.files / "flights.csv", outside.late, 2, _PART)
    story.step(
        "sara", "resumes it: the file that arrived meanwhile is loaded once", lambda: _resumed(sara, omar, 3 * _PART)
    )
    story.step("sara", "pauses it again", lambda: _paused(sara), "queued: pause")


def _tend(story: Story, people: tuple[Person, ...]) -> None:
    omar, tess, dan = people
    story.step(
        "omar",
        "makes the table's services run on small",
        lambda: _did(omar, f"/resources/{_TABLE}/move-to-cluster", {"cluster": "small"}),
    )
    story.step(
        "tess",
        "saves compact_flights: she may not alter the table",
        lambda: tess.save("compact_flights", place=_TABLE),
        REFUSED,
    )
    for privilege in ("ALTER", "DESCRIBE"):
        story.step("omar", "gives", lambda p=privilege: omar.give("tess", p, _TABLE))
    before = _files(omar)
    story.step("tess", "saves compact_flights", lambda: tess.save("compact_flights", place=_TABLE))
    story.step("tess", "runs compact_flights", lambda: tess.run(_SERVICE), "succeeded")
    story.step("--", "fewer files hold the same flights", lambda: _fewer(omar, before))
    story.step("tess", "reads the table that she tends: ALTER is not SELECT", lambda: str(tess.value(_COUNT)), REFUSED)
    story.step(
        "dan",
        "looks at how compact_flights went: he may not describe the table",
        lambda: str(dan.call("GET", "/runs", pipeline=_SERVICE)),
        REFUSED,
    )


def _ask(story: Story, people: tuple[Person, ...]) -> None:
    omar, dan, nina = people
    story.step("dan", "counts the late flights", lambda: str(dan.value(_COUNT)), REFUSED)
    story.step("omar", "gives", lambda: omar.give("dan", "SELECT", "lake.late"))
    story.step("dan", "counts the late flights", _counted(dan, 3 * _PART))
    story.step(
        "dan", "deletes from them: SELECT is not DELETE", lambda: str(dan.rows(f"DELETE FROM {_TABLE}")), REFUSED
    )
    story.step("dan", "creates a table", lambda: str(dan.rows("CREATE TABLE lake.late.mine (n INT)")), REFUSED)
    story.step("nina", "counts the late flights", lambda: str(nina.value(_COUNT)), REFUSED)


def _restart(story: Story, people: tuple[Person, ...], outside: Outside) -> None:
    omar, sara = people
    (outside.late / "late-0.json").unlink()
    story.step(
        "sara", "cleans and restarts late_flights, without its first file", lambda: _restarted(sara, omar, 2 * _PART)
    )
    story.step("omar", "revokes sara's privileges while it runs", lambda: _taken(omar, sara), REFUSED)


def _did(person: Person, path: str, body: object = None) -> None:
    person.call("POST", path, body)


def _counted(person: Person, count: int) -> Callable[[], Outcome]:
    def counted() -> Outcome:
        found = person.value(_COUNT)
        return Outcome("done" if found == count else "wrong", f"{found:,}")

    return counted


def _until_there(person: Person, count: int) -> Outcome:
    found = person.awaited(lambda: person.value(_COUNT), lambda value: value == count)
    return Outcome("done", f"{found:,} flights")


def _flows(sara: Person, omar: Person, count: int) -> Outcome:
    sara.start("late_flights")
    sara.awaited(lambda: _tables(omar), bool)
    return _until_there(omar, count)


def _tables(person: Person) -> list[str]:
    found = person.call("GET", "/resources?type=table&limit=500")["items"]
    return [each["name"] for each in found if each["name"] == _TABLE]


def _last_run(person: Person) -> str:
    return str(person.call("GET", "/runs", pipeline="late_flights")["items"][0]["run"])


def _paused(sara: Person) -> Outcome:
    run = _last_run(sara)
    _did(sara, "/pipelines/late_flights/pause")
    return ended(sara.until(run, lambda shown: shown["state"] != "running"))


def _resumed(sara: Person, omar: Person, count: int) -> Outcome:
    _did(sara, "/pipelines/late_flights/resume")
    return _until_there(omar, count)


def _restarted(sara: Person, omar: Person, count: int) -> Outcome:
    _did(sara, "/pipelines/late_flights/clean-and-restart")
    return _until_there(omar, count)


def _taken(omar: Person, sara: Person) -> Outcome:
    run = _last_run(sara)
    for privilege in ("CREATE_TABLE", "INSERT"):
        omar.take("sara", privilege, "lake.late")
    return ended(omar.until(run, lambda shown: shown["state"] not in ("queued", "running")))


def _files(omar: Person) -> int:
    return int(omar.value(f"SELECT count(*) FROM {_TABLE}.files"))


def _fewer(omar: Person, before: int) -> Outcome:
    after, flights = _files(omar), omar.value(_COUNT)
    fine = after < before and flights == 3 * _PART
    return Outcome("done" if fine else "wrong", f"{before} files, then {after}; {flights:,} flights")
