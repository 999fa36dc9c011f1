"""Settings: the setup of Java and the jars."""

from headgate.app.settings.variable import SettingSpec

SETUP = (
    SettingSpec(
        "HEADGATE_CACHE",
        "path",
        "cache",
        "the folder for files that can be created again: the Iceberg jar, the compiled guard, the example's data",
        "`~/.cache/headgate`",
    ),
    SettingSpec(
        "HEADGATE_JARS",
        "path",
        "jars_folder",
        "a folder with the Iceberg jar, in place of a download",
        "Spark's resolver downloads the jar",
        option="setup --jars",
    ),
)
