"""The demo: real data under access control, four people, and refusals of Spark with their reasons."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath

from headgate.app.background import run_in_background
from headgate.app.server import Server
from headgate.app.settings.settings import Settings
from headgate.cli.demo.attempts import try_everything
from headgate.cli.demo.data import DemoError, unpack_data
from headgate.cli.demo.people import PARTS, AttemptRefusedError, Person
from headgate.cli.demo.report import print_farewell, print_grid, print_refusals
from headgate.cli.demo.revoke import revoke_in_a_live_session
from headgate.cli.demo.world import make_lakehouse, make_people
from headgate.cli.output import build_progress, console, say
from headgate.control.egress import EgressRules
from headgate.control.organizations.commands import ORGANIZATION


def run_demo(settings: Settings, *, once: bool) -> int:
    """Run the demo, then serve until Ctrl-C; return the exit code: 1 if an attempt did not end as expected.

    Raises `DemoError` if the demo cannot continue.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    began = time.monotonic()
    # Not in the data folder or the cache: no connection may read files of those.
    folder = unpack_data(settings.folder.with_name(f"{settings.folder.name}-files"))
    egress = settings.egress.extend(ORGANIZATION, EgressRules((PurePosixPath(folder),)))
    with run_in_background(replace(settings, owner=PARTS[0].name, egress=egress), say) as server:
        with _naming_the_rescue(settings.folder):
            people = make_people(server)
            make_lakehouse(people, folder)
            as_expected = _try(server, people, began)
        if not once:
            print_farewell(server, people)
            threading.Event().wait()
        _close(people)
        return 0 if as_expected else 1


def _try(server: Server, people: list[Person], began: float) -> bool:
    """Make every attempt as every person, and print the results; return whether all are as expected."""
    with console.status("each person makes each attempt") as status:
        tried = try_everything(
            server, people, lambda each: status.update(build_progress(f"{each.person.name}: {each.thing.title}"))
        )
    print_grid(people, tried)
    print_refusals(people, tried)
    at_once = revoke_in_a_live_session(people)
    good = sum(each.as_expected for each in tried)
    say(f"\n{good} of {len(tried)} attempts ended as expected; {time.monotonic() - began:.0f} s in all")
    return at_once and good == len(tried)


@contextmanager
def _naming_the_rescue(folder: Path) -> Iterator[None]:
    """Add the next step to an error that ends the demo: delete its data and run it again."""
    try:
        yield
    except (DemoError, AttemptRefusedError) as error:
        raise DemoError(
            f"the demo cannot continue: {error}; to begin with new data, delete the folder `{folder}` and run the demo again"
        ) from error


def _close(people: list[Person]) -> None:
    for person in people:
        person.close()
