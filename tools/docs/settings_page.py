"""The documentation page of the settings, generated from their definitions."""

from dataclasses import MISSING, fields
from typing import Any

from headgate.app.settings.schema import GROUPS
from headgate.app.settings.settings import Settings
from headgate.app.settings.variable import FILE_SUFFIX, SettingSpec
from headgate.control.authentication.settings import LoginSettings, Provider
from headgate.endpoints.http.limits import Limits
from headgate.spark.sql.statements import SqlLimits

_HEAD = """\
# Settings

All settings of a deployment. This page is generated from `src/headgate/app/settings/schema.py`; a test checks that it is current.

Each setting is an environment variable. A setting with a key can also be in a TOML file that `HEADGATE_CONFIG` names:

```toml
bind = "0.0.0.0"
tls_cert = "/etc/headgate/tls/tls.crt"
tls_key = "/etc/headgate/tls/tls.key"
store_file = "/run/secrets/store"
log = "json"
```

An option of the command overrides the environment, the environment overrides the file, and the file overrides the default. A variable
with an empty value counts as not set. A key or variable that is not on this page is refused, and so is an invalid value: the message
says which values are valid. To read a secret from its own file, append `_FILE` to the variable or `_file` to the key, and set it to the path.
"""
_ELSEWHERE = """\

## Read by other programs

| variable | means | if it is not set |
|---|---|---|
| `JAVA_HOME` | the Java that runs Spark, if Spark supports it | the first `java` on `PATH`, else the one from PyPI |
| `SSL_CERT_FILE` | the certificate authorities that the bundled Java trusts while it fetches the jar | those that Python trusts |
| `PYTHON` | the Python with which `make setup` creates `.venv` | the newest of Python 3.11 to 3.13 on `PATH`, else `python3` |
"""
_HOLDERS = {"": Settings, "limits": Limits, "logins": LoginSettings, "provider": Provider, "sql": SqlLimits}


def page() -> str:
    """Return the page."""
    return _HEAD + "".join(_group(title, group) for title, group in GROUPS.items()) + _ELSEWHERE


def _group(title: str, variables: tuple[SettingSpec, ...]) -> str:
    head = f"\n## {title}\n\n| variable | key | means | if it is not set | option |\n|---|---|---|---|---|\n"
    return head + "".join(_row(each) for each in variables)


def _row(variable: SettingSpec) -> str:
    key = f"`{variable.key}`" if variable.in_file else ""
    choices = " (" + ", ".join(f"`{each}`" for each in variable.choices) + ")" if variable.choices else ""
    secret = f". Or a file: `{variable.key}{FILE_SUFFIX.lower()}`" if variable.secret and key else ""
    means = f"{variable.means}{choices}{secret}"
    option = f"`{variable.option}`" if variable.option else ""
    return f"| `{variable.name}` | {key} | {means} | {variable.otherwise or _default(variable)} | {option} |\n"


def _default(variable: SettingSpec) -> str:
    group, _, name = variable.field.rpartition(".")
    (found,) = (each for each in fields(_HOLDERS[group]) if each.name == name)
    if found.default is MISSING:
        raise ValueError(f"{variable.name} has no default; describe what applies if it is not set in `otherwise`")
    return _shown(found.default)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:g}" if isinstance(value, float) else str(value)
