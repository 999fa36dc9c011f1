"""Settings: the command line."""

from headgate.app.settings.variable import SettingSpec

COMMAND_LINE = (
    SettingSpec(
        "HEADGATE_URL",
        "web",
        "",
        "where the command line finds a server that is not on this machine's usual port",
        "`http://127.0.0.1` with the port of `HEADGATE_API_PORT`",
    ),
    SettingSpec(
        "HEADGATE_TOKEN",
        "text",
        "",
        "as whom the command line acts",
        "the first owner's token, read from the data folder",
    ),
    SettingSpec(
        "HEADGATE_DEMO_ONCE",
        "flag",
        "",
        "if it is neither empty nor 0, the demo ends after its story",
        "it serves until Ctrl-C",
        option="--once",
    ),
)
