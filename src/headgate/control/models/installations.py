"""Installed access models: those that the organizations of a deployment can choose."""

from headgate.control.kernel.errors import InvalidError
from headgate.control.kernel.model_source import ModelSource, SourcedModel
from headgate.facts.snapshot import InstalledModel, Snapshot


def list_installed(deployment: Snapshot) -> dict[str, InstalledModel]:
    """Return the installed models by name, sorted, from the facts of the deployment's own log."""
    return {name: each for name, each in sorted(deployment.installed_models.items()) if not each.is_removed}


def require_installed(deployment: Snapshot, sources: ModelSource, name: str) -> SourcedModel:
    """Return the current version of an installed model. Raises `InvalidError` if no such model is installed."""
    installed = list_installed(deployment)
    found = sources.find(installed[name].hash) if name in installed else None
    if found is None:
        raise InvalidError(
            f"the access model `{name}` is not installed; choose from {', '.join(f'`{each}`' for each in installed)}, or install "
            "the model with `headgate model install`"
        )
    return found
