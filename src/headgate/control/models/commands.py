"""Commands that install and remove the access models of a deployment, in the deployment's own log."""

from dataclasses import dataclass
from typing import Final

from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import AlreadyExistsError, InvalidError, NotFoundError
from headgate.control.kernel.model_source import SourcedModel
from headgate.facts.changes import ModelInstalled, ModelRemoved
from headgate.facts.snapshot import InstalledModel

INSTALL_MODEL, REMOVE_MODEL = "deployment.install_model", "deployment.remove_model"

_MOST_NAMED: Final = 3
"""The most organizations that a refusal names."""


@dataclass(frozen=True, slots=True)
class InstallModel:
    """Install a model: organizations can choose it. A later version of an installed model becomes the current one.

    Organizations that use an earlier version keep it until they are upgraded. Has no effect if this version is the current
    one. A model that `is_shipped` comes with Headgate.
    """

    model: SourcedModel
    is_shipped: bool = False
    name: str = "model.install"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `deployment.install_model`, and a higher version number unless this source was installed before."""
        view.require_action(INSTALL_MODEL, view.root)
        model, installed = self.model.model, view.facts.installed_models.get(self.model.model.name)
        if model.name == view.root:
            raise InvalidError(
                f"the name `{model.name}` is that of the access model of the deployment itself; choose another name for the model"
            )
        if installed is not None and not installed.is_removed and installed.hash == model.hash:
            return CommandEffect(())
        self._require_new_version(installed)
        change = ModelInstalled(model.name, model.hash, model.version, self.is_shipped)
        return CommandEffect((change,), (self.model.document,))

    def _require_new_version(self, installed: InstalledModel | None) -> None:
        model = self.model.model
        if installed is None or model.hash in installed.versions:
            return
        newest = max(installed.numbers)
        if model.version <= newest:
            raise AlreadyExistsError(
                f"the file states version {model.version} of the access model `{model.name}`, but version {newest} is installed, with "
                f"another content; write `version: {newest + 1}` in the file, or give the model another name"
            )


@dataclass(frozen=True, slots=True)
class RemoveModel:
    """Remove an installed model: organizations cannot choose it any more. Its source stays, for past decisions.

    `users` are the names of the organizations that use it.
    """

    model: str
    users: tuple[str, ...] = ()
    name: str = "model.remove"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require `deployment.remove_model`, and that no organization uses the model."""
        view.require_action(REMOVE_MODEL, view.root)
        installed = view.facts.installed_models.get(self.model)
        if installed is None or installed.is_removed:
            raise NotFoundError(
                f"the access model `{self.model}` is not installed; `headgate model list-installed` lists the models"
            )
        if self.users:
            names = ", ".join(f"`{each}`" for each in self.users[:_MOST_NAMED])
            more = f" and {len(self.users) - _MOST_NAMED} more" if len(self.users) > _MOST_NAMED else ""
            raise InvalidError(
                f"the access model `{self.model}` is in use in {names}{more}; choose another model there first"
            )
        return CommandEffect((ModelRemoved(self.model),))
