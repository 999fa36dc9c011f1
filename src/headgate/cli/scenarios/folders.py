"""Reads scenario folders: `worlds/`, `cases/` and, for a system without a shipped model, its model."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

import yaml

from headgate.cli.errors import describe_unreadable
from headgate.conformance.errors import ScenarioError
from headgate.conformance.language import Language, words_of
from headgate.conformance.runner import ConformanceCase, read_case
from headgate.conformance.world import World
from headgate.conformance.world_builder import build
from headgate.conformance.world_checker import check_world
from headgate.control.kernel.log_follower import EngineFactory
from headgate.control.kernel.parsing import InvalidDocumentError, entry
from headgate.control.kernel.vocabulary import shipped_vocabulary
from headgate.decision.conditions import CONDITIONS
from headgate.model.load import load_model
from headgate.model.model import Model

_PACKAGE = files("headgate.model")


class _WorldLoader(yaml.SafeLoader):
    """A safe loader that reads `on` as the word, as model files do, and not as `true`."""

    yaml_implicit_resolvers = {  # noqa: RUF012 (the loader's own attribute)
        letter: [each for each in resolvers if letter not in "oO" or not each[0].endswith(":bool")]
        for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


@dataclass(frozen=True, slots=True)
class System:
    """The cases of one system in a folder, and the world in which each case begins."""

    folder: Path
    name: str
    world: World
    cases: tuple[ConformanceCase, ...]

    @property
    def file(self) -> Path:
        """The file of the cases."""
        return self.folder / "cases" / f"{self.name}.jsonl"


def read_folder(folder: Path, start: EngineFactory) -> Iterator[System]:
    """Yield the systems of a folder.

    Raises `ScenarioError` for a missing or invalid file, `ModelError` for a model with mistakes.
    """
    found = sorted((folder / "cases").glob("*.jsonl"))
    if not found:
        raise ScenarioError(
            f"`{folder}` has no file `cases/*.jsonl`, so there is no case to run; pass a folder with such a file"
        )
    for path in found:
        name = path.stem
        words = words_of(_model(folder, name), shipped_vocabulary())
        yield System(folder, name, _world(folder / "worlds" / f"{name}.yaml", words, start), tuple(_cases(path)))


def _world(path: Path, words: Language, start: EngineFactory) -> World:
    text = _read(path)
    check_world(text, str(path), words)
    try:
        return build(entry(yaml.load(text, _WorldLoader)), words, start)  # noqa: S506 (a safe loader)
    except (InvalidDocumentError, yaml.YAMLError) as error:
        raise ScenarioError(f"{path}: {error}") from None


def _model(folder: Path, name: str) -> Model:
    own = folder / f"{name}.yaml"
    shipped = _PACKAGE.joinpath("models", own.name)
    if not own.exists() and not shipped.is_file():
        raise ScenarioError(f"there is no access model `{name}`; create the model in the file `{own}`")
    text = _read(own) if own.exists() else shipped.read_text(encoding="utf-8")
    return load_model(text, shipped_vocabulary(), str(own) if own.exists() else own.name, CONDITIONS)


def _cases(path: Path) -> Iterator[ConformanceCase]:
    seen: set[str] = set()
    for number, line in enumerate(_read(path).split("\n"), 1):
        if line.strip():
            try:
                case = replace(read_case(entry(json.loads(line)), path.stem), line=number)
            except (InvalidDocumentError, json.JSONDecodeError) as error:
                raise ScenarioError(f"{path}:{number}: {error}") from None
            if case.id in seen:
                raise ScenarioError(f"{path}:{number}: the id `{case.id}` is used twice; give each case its own id")
            seen.add(case.id)
            yield case


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(describe_unreadable(path, error)) from None
