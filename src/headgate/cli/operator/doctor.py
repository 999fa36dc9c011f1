"""`headgate doctor`: is this deployment well, and what to do if it is not."""

import os
import sys
import time
from dataclasses import asdict
from typing import Annotated

import typer

from headgate.app.settings.settings import default_settings
from headgate.cli.local import Data
from headgate.cli.output import print_table, write_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor)


def doctor(
    *,
    data: Data = None,
    json: Annotated[bool, typer.Option("--json", help="print JSON: one object on each line")] = False,
) -> None:
    """Check the settings, the data, the store, the ports, the certificate and the needs of Spark. It changes nothing."""
    from headgate.app.doctor import doctor

    found = list(doctor(lambda: default_settings(os.environ, folder=data), os.environ, time.time()))
    if json:
        for each in found:
            write_json(asdict(each))
    else:
        print_table(("", "", "seen", "what to do"), [(each.state, each.what, each.seen, each.do) for each in found])
    sys.exit(any(each.state == "fail" for each in found))
