"""Settings: the set-up: Java and the jars."""

from headgate.app.settings.variable import SettingSpec

SETUP = (
    SettingSpec(
        "HEADGATE_CACHE",
        "path",
        "cache",
        "the folder for what can be made again: the Iceberg jar, the compiled guard, the example's data",
        "`~/.cache/headgate`",
    ),
    SettingSpec(
        "HEADGATE_JARS",
        "path",
        "jars_folder",
        "a folder that the Iceberg jar is taken from instead of the network",
        "the jar is fetched by Spark's own resolver",
        option="setup --jars",
    ),
)
