"""All settings, in the groups of their documentation page."""

from headgate.app.settings.groups.command_line import COMMAND_LINE
from headgate.app.settings.groups.limits import LIMITS
from headgate.app.settings.groups.logins import LOGINS
from headgate.app.settings.groups.network import NETWORK
from headgate.app.settings.groups.observability import OBSERVABILITY
from headgate.app.settings.groups.runs import RUNS
from headgate.app.settings.groups.setup import SETUP
from headgate.app.settings.groups.sql import SQL
from headgate.app.settings.groups.store import STORE

GROUPS = {
    "The store": STORE,
    "Listening": NETWORK,
    "Runs of pipelines": RUNS,
    "Limits": LIMITS,
    "SQL over HTTP": SQL,
    "Logs and metrics": OBSERVABILITY,
    "Logins": LOGINS,
    "Setting up": SETUP,
    "The command line": COMMAND_LINE,
}
"""The settings by the headings of their documentation page."""

VARIABLES = tuple(variable for group in GROUPS.values() for variable in group)
