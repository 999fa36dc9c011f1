"""The definition of a setting as data: its variable, its meaning, and its field in `Settings`."""

from dataclasses import dataclass
from typing import Literal

VARIABLE_PREFIX = "HEADGATE_"
FILE_SUFFIX = "_FILE"
"""The suffix of a secret's variable that names the file with the secret."""
CONFIG_VARIABLE = "HEADGATE_CONFIG"
FLAG_ON, FLAG_OFF = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
LAST_PORT = 65535
VALUE = "the value"
"""The subject of the fault of a value; the message of the setting has the value and its place instead."""

SettingKind = Literal[
    "text",
    "path",
    "port",
    "count",
    "seconds",
    "rate",
    "flag",
    "choice",
    "words",
    "domains",
    "networks",
    "origins",
    "address",
    "postgresql",
    "web",
    "bucket",
    "clusters",
    "egress",
]


FILE_KINDS: tuple[SettingKind, ...] = ("path", "clusters", "egress")
"""The kinds of settings whose value is the path of a file or folder."""


@dataclass(frozen=True, slots=True)
class SettingSpec:
    """One setting.

    `field` is its path in `Settings`; a setting with an empty one is read elsewhere, and not from the configuration file.
    `otherwise` describes the default, unless the default of the field is shown.
    """

    name: str
    kind: SettingKind
    field: str
    means: str
    otherwise: str = ""
    choices: tuple[str, ...] = ()
    secret: bool = False
    option: str = ""

    @property
    def key(self) -> str:
        """The name of the setting in the configuration file."""
        return self.name.removeprefix(VARIABLE_PREFIX).lower()

    @property
    def in_file(self) -> bool:
        """Whether the setting can be written in the configuration file."""
        return bool(self.field)
