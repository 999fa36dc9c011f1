"""The entry point of the command line."""

import os
import sys

import httpx

from headgate.app.settings.settings import SettingsError
from headgate.cli.application import build_app
from headgate.cli.client import ApiError
from headgate.cli.command_index import COMMANDS, find_modules
from headgate.cli.deployment_url import describe_unreachable
from headgate.cli.output import fail

_COMPLETION = "_headgate_complete".upper()
"""The variable by which a shell asks Click for completions, of any command."""


def main() -> None:
    """Run the command line. A failure prints one sentence and ends with an exit code other than 0."""
    try:
        build_app(COMMANDS if _COMPLETION in os.environ else find_modules(sys.argv[1:]))()
    except (ApiError, SettingsError) as error:
        fail(str(error))
        sys.exit(1)
    except httpx.InvalidURL as error:
        fail(f"the URL of the request is invalid ({error}); check HEADGATE_URL and the path")
        sys.exit(1)
    except httpx.TransportError as error:
        fail(describe_unreachable(error))
        sys.exit(1)
