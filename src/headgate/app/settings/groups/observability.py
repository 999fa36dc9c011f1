"""Settings: logs and metrics."""

from headgate.app.settings.variable import SettingSpec

OBSERVABILITY = (
    SettingSpec(
        "HEADGATE_LOG",
        "choice",
        "log",
        "the format of the log on the standard error: lines of text, or one JSON object on each line",
        choices=("text", "json"),
    ),
    SettingSpec(
        "HEADGATE_LOG_LEVEL",
        "choice",
        "log_level",
        "the lowest level that is logged; each request is `info`, probes and evaluations are `debug`",
        choices=("debug", "info", "warning", "error"),
    ),
    SettingSpec(
        "HEADGATE_METRICS",
        "choice",
        "metrics",
        "which clients may read `/metrics`: those on this machine, those with the token, or all",
        choices=("loopback", "token", "open"),
    ),
    SettingSpec(
        "HEADGATE_METRICS_TOKEN", "text", "metrics_token", "the token for `/metrics`", "there is none", secret=True
    ),
)
