"""The command line with every command, for programs that read its commands, such as the documentation's tests."""

from headgate.cli.application import build_app
from headgate.cli.command_index import COMMANDS

app = build_app(COMMANDS)
