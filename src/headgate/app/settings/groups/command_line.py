"""Settings: the command line."""

from headgate.app.settings.variable import SettingSpec

COMMAND_LINE = (
    SettingSpec(
        "HEADGATE_URL",
        "web",
        "",
        "the URL of the server that the command line calls",
        "`http://127.0.0.1` with the port of `HEADGATE_API_PORT`",
    ),
    SettingSpec(
        "HEADGATE_TOKEN",
        "text",
        "",
        "the token with which the command line calls the API",
        "the session of `headgate auth login`, else the first owner's token in the data folder",
    ),
    SettingSpec(
        "HEADGATE_DEMO_ONCE",
        "flag",
        "",
        "if neither empty nor 0, the demo ends after its report",
        "the demo serves until Ctrl-C",
        option="--once",
    ),
)
