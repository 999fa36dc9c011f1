"""The access models that come with Headgate: the files in the package `headgate.model`."""

from functools import cache
from importlib.resources import files
from typing import Final

from headgate.control.kernel.model_source import SourcedModel
from headgate.control.models.library import load_source
from headgate.control.organizations.commands import DEPLOYMENT

_FILES: Final = files("headgate.model").joinpath("models")
_SUFFIX: Final = ".yaml"


@cache
def shipped_names() -> tuple[str, ...]:
    """Return the names of the shipped models that organizations can choose, sorted."""
    names = (each.name.removesuffix(_SUFFIX) for each in _FILES.iterdir() if each.name.endswith(_SUFFIX))
    return tuple(sorted(name for name in names if name != DEPLOYMENT))


@cache
def shipped_model(name: str) -> SourcedModel:
    """Return a shipped model; `deployment` is the one that decides on the deployment itself."""
    return load_source(_FILES.joinpath(f"{name}{_SUFFIX}").read_text(encoding="utf-8"), f"{name}{_SUFFIX}")


def shipped_models() -> tuple[SourcedModel, ...]:
    """Return the shipped models that organizations can choose."""
    return tuple(map(shipped_model, shipped_names()))
