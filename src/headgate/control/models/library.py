"""Library of access models: loads a model's source, and finds stored sources by their hash."""

from functools import lru_cache
from typing import Final

from headgate.control.kernel.model_source import MODEL_SOURCE, SourcedModel
from headgate.control.kernel.ports import StoreError
from headgate.control.kernel.stores import Stores
from headgate.control.kernel.vocabulary import shipped_vocabulary
from headgate.decision.conditions import CONDITIONS
from headgate.decision.context import Models
from headgate.facts.snapshot import Snapshot
from headgate.model.diagnostics import ModelError
from headgate.model.language_versions import NEWEST, OLDEST
from headgate.model.load import load_model

MAX_SOURCE: Final = 262_144
"""The most characters of the source of a model that is installed."""

_MOST_LOADED: Final = 128
"""The most models that a process keeps loaded."""


@lru_cache(maxsize=_MOST_LOADED)
def load_source(source: str, file: str, language: int = NEWEST) -> SourcedModel:
    """Return the model of a source; `file` is its name in diagnostics. Raises `ModelError` with all mistakes.

    `language` is the version of the model language of a source that names none.
    """
    return SourcedModel(load_model(source, shipped_vocabulary(), file, CONDITIONS, language), source)


def is_model(source: str) -> bool:
    """Whether a text is the source of a valid model."""
    try:
        load_source(source, "model.yaml", OLDEST)
    except ModelError:
        return False
    return True


class ModelLibrary:
    """The models of a deployment by the hash of their source. The sources are documents of its logs."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._found: dict[str, SourcedModel] = {}

    def add(self, model: SourcedModel) -> SourcedModel:
        """Return the model, which the library finds from now on, before its source is stored."""
        return self._found.setdefault(model.model.hash, model)

    def find(self, hash: str) -> SourcedModel | None:
        """Return the model whose source has this hash, or None if it is not stored."""
        found = self._found.get(hash)
        if found is None:
            stored = self._stores.find(MODEL_SOURCE, hash)
            if stored is None:
                return None
            # Mistakes that later versions of the language report do not stop a model that was installed before.
            source, file = str(stored[1]["source"]), f"{stored[1]['name']}.yaml"
            found = self.add(load_source(source, file, OLDEST))
        return found if found.model.hash == hash else None

    def in_force(self, facts: Snapshot) -> Models:
        """Return every model that decides in the organization, or decided once, in the version that the facts state.

        Raises `StoreError` if the source of one that decides now is not stored.
        """
        found = {name: self.find(hash) for name, hash in sorted(facts.model_hashes.items())}
        for name in sorted(facts.models_in_force):
            if found[name] is None:
                raise StoreError(
                    f"the organization `{facts.organization}` uses a version of the access model `{name}` that this deployment "
                    "does not have; restore the store from a backup, or import the organization again"
                )
        return {name: each.model for name, each in found.items() if each is not None}


class FixedModels:
    """A few models, each in one version whatever a log states: for organizations without a stored source."""

    def __init__(self, models: Models) -> None:
        self._models = models

    def find(self, hash: str) -> SourcedModel | None:
        """Return the model with this hash, without its source, or None."""
        found = (each for each in self._models.values() if each.hash == hash)
        return next((SourcedModel(each, "") for each in found), None)

    def in_force(self, facts: Snapshot) -> Models:  # noqa: ARG002 (the protocol has it)
        """Return the models."""
        return self._models
