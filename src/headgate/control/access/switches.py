"""Switches: the settings of a model, such as plan, role mode and change process."""

from dataclasses import dataclass

from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import InvalidError
from headgate.control.kernel.operations import OperationPlace
from headgate.facts.changes import SettingChanged
from headgate.facts.ids import ResourceId


@dataclass(frozen=True, slots=True)
class ChangeSetting:
    """Set a switch on a resource; it holds there and below, except where a nearer resource has its own value."""

    resource: ResourceId
    setting: str
    value: str
    name: str = "setting.change"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Require the action `set_` plus the switch's name on the resource. The question's parameter `mode` is the new value.

        A switch that no role may set, such as a plan, is set by the deployment.
        """
        place = view.target(self.resource)
        about = OperationPlace(place, given={"mode": (self.value,)})
        view.require_operation(self.name, {"resource": about}, setting=self.setting)
        known = [setting for model in view.models.values() if (setting := model.settings.get(self.setting))]
        if not any(place.type in setting.on for setting in known):
            names = {
                name for model in view.models.values() for name, each in model.settings.items() if place.type in each.on
            }
            raise InvalidError(
                f"the type `{place.type}` has no setting `{self.setting}`; its settings are {', '.join(sorted(names)) or 'none'}"
            )
        values = tuple(dict.fromkeys(value for setting in known for value in setting.values))
        if self.value not in values:
            raise InvalidError(f"`{self.setting}` must be one of {', '.join(values)}, not `{self.value}`")
        return CommandEffect((SettingChanged(place.id, self.setting, self.value),))
