"""A setting as data: its variable, what it means, and the field of the settings that it is for."""

from dataclasses import dataclass
from typing import Literal

VARIABLE_PREFIX = "HEADGATE_"
FILE_SUFFIX = "_FILE"
"""Behind the name of a secret's variable: the file that the secret is read from."""
CONFIG_VARIABLE = "HEADGATE_CONFIG"
FLAG_ON, FLAG_OFF = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
LAST_PORT = 65535

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
"""The kinds of settings that name a file or a folder."""


@dataclass(frozen=True, slots=True)
class SettingSpec:
    """One setting. `field` leads to it in `Settings`; an empty one is read elsewhere, and not in the configuration file.

    `otherwise` says what holds when it is not set, where the field's default does not.
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
        """Its name in the configuration file."""
        return self.name.removeprefix(VARIABLE_PREFIX).lower()

    @property
    def in_file(self) -> bool:
        """Whether it can stand in the configuration file."""
        return bool(self.field)
