"""Settings: SQL over HTTP."""

from headgate.app.settings.variable import SettingSpec

SQL = (
    SettingSpec("HEADGATE_SQL_ROWS", "count", "sql.rows", "the most rows in the result of one statement"),
    SettingSpec("HEADGATE_SQL_BYTES", "count", "sql.bytes", "the largest result of one statement, in bytes as Arrow"),
    SettingSpec("HEADGATE_SQL_SECONDS", "seconds", "sql.seconds", "seconds after which a statement is ended"),
    SettingSpec(
        "HEADGATE_SQL_KEPT_BYTES",
        "count",
        "sql.kept_bytes",
        "the largest result whose rows can be fetched as JSON, in bytes",
    ),
    SettingSpec(
        "HEADGATE_SQL_KEPT_SECONDS",
        "seconds",
        "sql.kept_seconds",
        "how long a statement whose client no longer polls continues, and its rows are kept, in seconds",
    ),
    SettingSpec(
        "HEADGATE_SQL_AT_ONCE",
        "count",
        "sql.at_once",
        "the most statements of one principal that run or whose rows are kept",
    ),
)
