"""Settings: logs and metrics."""

from headgate.app.settings.variable import SettingSpec

OBSERVABILITY = (
    SettingSpec(
        "HEADGATE_LOG",
        "choice",
        "log",
        "how the log is written to the standard error: lines of text, or one JSON object for each",
        choices=("text", "json"),
    ),
    SettingSpec(
        "HEADGATE_LOG_LEVEL",
        "choice",
        "log_level",
        "the least that is logged; each request is `info`, probes and evaluations are `debug`",
        choices=("debug", "info", "warning", "error"),
    ),
    SettingSpec(
        "HEADGATE_METRICS",
        "choice",
        "metrics",
        "who may read `/metrics`: this machine, who has the token, or anybody who gets there",
        choices=("loopback", "token", "open"),
    ),
    SettingSpec(
        "HEADGATE_METRICS_TOKEN", "text", "metrics_token", "the token for `/metrics`", "there is none", secret=True
    ),
)
