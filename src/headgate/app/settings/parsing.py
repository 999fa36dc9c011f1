"""Reads the settings from the environment and the configuration file, and parses the value of each kind of setting."""

import difflib
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

from headgate.app.settings.schema import VARIABLES
from headgate.app.settings.variable import (
    CONFIG_VARIABLE,
    FILE_SUFFIX,
    FLAG_OFF,
    FLAG_ON,
    LAST_PORT,
    VALUE,
    VARIABLE_PREFIX,
    SettingKind,
    SettingSpec,
)
from headgate.control.egress import EgressPolicy
from headgate.control.kernel.errors import InvalidError
from headgate.control.kernel.login_normalization import domain_name
from headgate.spark.driver.clusters import Clusters

# Kubernetes sets variables in a pod for every service of its namespace, and a service may have the name `headgate`.
_OF_KUBERNETES = re.compile(VARIABLE_PREFIX + r"(SERVICE_(HOST|PORT)(_\w+)?|PORT(_\d+_\w+)?)")
_OR_UNSET = ", or unset it"
_BY_NAME = {each.name: each for each in VARIABLES}
_BY_KEY = {each.key: each for each in VARIABLES if each.in_file}


class SettingsError(Exception):
    """A setting is invalid; the message names it and a valid value."""


@dataclass(frozen=True, slots=True)
class RawSetting:
    """The unparsed value of a setting, and the place where it is written, as an error names it."""

    word: str
    place: str


def parse_values(environ: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the values of all settings that are set, by their fields in `Settings`. Raises `SettingsError`.

    The environment overrides the configuration file. An empty variable counts as not set.
    """
    written = {**_in_file(environ.get(CONFIG_VARIABLE, "")), **_in_environment(environ)}
    return {
        variable.field: read(variable, written[name])
        for name, variable in _BY_NAME.items()
        if variable.in_file and name in written
    }


def read(variable: SettingSpec, written: RawSetting) -> Any:
    """Return the parsed value of a setting. Raises `SettingsError` for an invalid value."""
    try:
        return _KINDS[variable.kind](written.word, variable.choices)
    except ValueError as error:
        said = f"the value of {written.place}" if variable.secret else f"`{written.word}` in {written.place}"
        raise SettingsError(said + str(error).removeprefix(VALUE) + _OR_UNSET) from None


def _in_environment(environ: Mapping[str, str]) -> Mapping[str, RawSetting]:
    found: dict[str, RawSetting] = {}
    for name in sorted(environ):
        if not environ[name] or not name.startswith(VARIABLE_PREFIX) or _OF_KUBERNETES.fullmatch(name):
            continue
        variable, written = _resolve_variable(name, name, environ[name], _BY_NAME)
        if variable.name in found:
            raise SettingsError(f"{variable.name} and {variable.name}{FILE_SUFFIX} are both set; unset one")
        found[variable.name] = written
    return found


def _in_file(path: str) -> Mapping[str, RawSetting]:
    if not path:
        return {}
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(
            f"the configuration file `{path}` in {CONFIG_VARIABLE} cannot be read ({error}); correct its "
            "path, permissions or content"
        ) from None
    found: dict[str, RawSetting] = {}
    for key, value in content.items():
        place = f"`{key}` of `{path}`"
        variable, written = _resolve_variable(key, place, _word(value, place), _BY_KEY)
        if variable.name in found:
            raise SettingsError(
                f"`{variable.key}` and `{variable.key}{FILE_SUFFIX.lower()}` of `{path}` are both set; remove one"
            )
        found[variable.name] = written
    return found


def _resolve_variable(
    name: str, place: str, word: str, known: Mapping[str, SettingSpec]
) -> tuple[SettingSpec, RawSetting]:
    """Return the setting with a name, and its value, which is read from a file if the name ends with `_FILE`."""
    if name in known:
        return known[name], RawSetting(word, place)
    bare = name.removesuffix(FILE_SUFFIX).removesuffix(FILE_SUFFIX.lower())
    if bare != name and bare in known and known[bare].secret:
        return known[bare], RawSetting(_secret(word, place), place)
    close = difflib.get_close_matches(name, known, 1)
    if close:
        raise SettingsError(f"{place} is not a setting; did you mean `{close[0]}`?")
    raise SettingsError(f"{place} is not a setting; correct its name, or remove it")


def _secret(path: str, place: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"the file `{path}` in {place} cannot be read ({error}); correct its path or permissions"
        ) from None


def _word(value: object, place: str) -> str:
    if isinstance(value, bool):
        return FLAG_ON[0] if value else FLAG_OFF[0]
    if isinstance(value, list):
        return ",".join(_word(each, place) for each in value)
    if isinstance(value, str | int | float):
        return str(value)
    raise SettingsError(f"{place} has an invalid type; write a string, a number, true, false or a list")


def _text(word: str, _: Sequence[str]) -> str:
    return word


def _path(word: str, _: Sequence[str]) -> Path:
    return Path(word)


def _port(word: str, _: Sequence[str]) -> int:
    if not _DIGITS.fullmatch(word) or int(word) > LAST_PORT:
        raise ValueError(f"{VALUE} is not a port; use a number up to {LAST_PORT}")
    return int(word)


def _count(word: str, _: Sequence[str]) -> int:
    if not _DIGITS.fullmatch(word) or int(word) == 0:
        raise ValueError(f"{VALUE} is not a count; use a whole number above 0")
    return int(word)


def _seconds(word: str, _: Sequence[str]) -> float:
    if not _NUMBER.fullmatch(word) or float(word) == 0:
        raise ValueError(f"{VALUE} is not a time; use a number of seconds above 0")
    return float(word)


def _rate(word: str, _: Sequence[str]) -> float:
    if not _NUMBER.fullmatch(word):
        raise ValueError(f"{VALUE} is not a rate; use a number per second, or 0 for no limit")
    return float(word)


def _flag(word: str, _: Sequence[str]) -> bool:
    if word.lower() not in (*FLAG_ON, *FLAG_OFF):
        raise ValueError(f"{VALUE} is neither 1 (yes) nor 0 (no); use 1 or 0")
    return word.lower() in FLAG_ON


def _choice(word: str, choices: Sequence[str]) -> str:
    if word not in choices:
        raise ValueError(f"{VALUE} is not one of {', '.join(f'`{each}`' for each in choices)}; use one of these")
    return word


def _words(word: str, _: Sequence[str]) -> tuple[str, ...]:
    return tuple(each.strip() for each in word.split(",") if each.strip())


def _domains(word: str, choices: Sequence[str]) -> tuple[str, ...]:
    try:
        return tuple(map(domain_name, _words(word, choices)))
    except InvalidError:
        raise ValueError(f"{VALUE} is not a list of ASCII domains; use a list such as acme.com,example.org") from None


def _address(word: str, _: Sequence[str]) -> str:
    try:
        return str(ip_address(word))
    except ValueError:
        raise ValueError(f"{VALUE} is not an IP address; use one such as 127.0.0.1, 0.0.0.0 or ::") from None


def _networks(word: str, _: Sequence[str]) -> tuple[str, ...]:
    try:
        return tuple(str(ip_network(each)) for each in _words(word, ()))
    except ValueError:
        raise ValueError(
            f"{VALUE} is not a list of IP addresses or networks; use a list such as 10.0.0.7,10.1.0.0/16"
        ) from None


def _origins(word: str, _: Sequence[str]) -> tuple[str, ...]:
    found = _words(word, ())
    if not all(re.fullmatch(r"https?://[^\s/]+", each) for each in found):
        raise ValueError(
            f"{VALUE} is not a list of origins; use origins such as https://app.example.com, without a path"
        )
    return found


def _postgresql(word: str, _: Sequence[str]) -> str:
    if not word.startswith("postgresql://"):
        raise ValueError(f"{VALUE} is not a `postgresql://` URL; use one such as postgresql://user@host/database")
    return word


def _web(word: str, _: Sequence[str]) -> str:
    if not re.fullmatch(r"https?://[^\s/]+(/\S*)?", word):
        raise ValueError(f"{VALUE} is not an `http://` or `https://` URL; use one such as https://login.example.com")
    return word


def _bucket(word: str, _: Sequence[str]) -> str:
    if not re.fullmatch(r"s3://[^\s/?#]+(/[^\s/?#]+)*/?", word):
        raise ValueError(f"{VALUE} is not an `s3://` URL; use one such as s3://bucket/prefix")
    return word


def _clusters(word: str, _: Sequence[str]) -> Clusters:
    from headgate.app.settings.clusters import read_clusters

    return read_clusters(Path(word))


def _egress(word: str, _: Sequence[str]) -> EgressPolicy:
    from headgate.app.settings.egress_file import read_egress_file

    return read_egress_file(Path(word))


_DIGITS = re.compile(r"[0-9]{1,18}")
_NUMBER = re.compile(r"[0-9]{1,18}(\.[0-9]{1,18})?")
_KINDS: Mapping[SettingKind, Callable[[str, Sequence[str]], Any]] = {
    "text": _text,
    "path": _path,
    "port": _port,
    "count": _count,
    "seconds": _seconds,
    "rate": _rate,
    "flag": _flag,
    "choice": _choice,
    "words": _words,
    "domains": _domains,
    "networks": _networks,
    "origins": _origins,
    "address": _address,
    "postgresql": _postgresql,
    "web": _web,
    "bucket": _bucket,
    "clusters": _clusters,
    "egress": _egress,
}
