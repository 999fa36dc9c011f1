"""`headgate doctor`: checks of a deployment, each with what to do about a fault."""

import os
import sys
import time
from dataclasses import asdict

import typer

from headgate.app.settings.settings import default_settings
from headgate.cli.local import Data
from headgate.cli.options import OutputMode
from headgate.cli.output import print_table, write_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor", epilog="Example: headgate doctor")(doctor)


def doctor(
    *,
    data: Data = None,
    output: OutputMode = "table",
) -> None:
    """Check the deployment, and show how to fix each fault.

    The command changes nothing. It checks the settings, the data folder, the store, the ports, the certificate, the clusters, the egress policy, and what
    Spark needs. `--output json` is one object on each line. The exit code is 1 if a check fails; a warning does not change it.
    """
    from headgate.app.doctor import doctor

    found = list(doctor(lambda: default_settings(os.environ, folder=data), os.environ, time.time()))
    if output == "json":
        for each in found:
            write_json(asdict(each))
    else:
        print_table(
            ("", "check", "finding", "what to do"), [(each.state, each.what, each.seen, each.do) for each in found]
        )
    sys.exit(any(each.state == "fail" for each in found))
