"""Settings: SQL over HTTP."""

from headgate.app.settings.variable import SettingSpec

SQL = (
    SettingSpec("HEADGATE_SQL_ROWS", "count", "sql.rows", "how many rows the result of one statement has at most"),
    SettingSpec(
        "HEADGATE_SQL_BYTES", "count", "sql.bytes", "how large the result of one statement is at most, as Arrow"
    ),
    SettingSpec("HEADGATE_SQL_SECONDS", "seconds", "sql.seconds", "after which a statement is ended"),
    SettingSpec(
        "HEADGATE_SQL_KEPT_BYTES",
        "count",
        "sql.kept_bytes",
        "how large a result is at most whose rows are sent as JSON",
    ),
    SettingSpec(
        "HEADGATE_SQL_KEPT_SECONDS",
        "seconds",
        "sql.kept_seconds",
        "how long a statement that nobody asks for goes on, and its rows are kept",
    ),
    SettingSpec(
        "HEADGATE_SQL_AT_ONCE", "count", "sql.at_once", "how many statements of one principal are under way or kept"
    ),
)
