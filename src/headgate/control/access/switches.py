"""The switches of a model: plan, role mode, change process ..."""

from dataclasses import dataclass

from headgate.control.kernel.command import CommandContext, CommandEffect
from headgate.control.kernel.errors import InvalidError
from headgate.facts.changes import SettingChanged
from headgate.facts.ids import ResourceId


@dataclass(frozen=True, slots=True)
class ChangeSetting:
    """A switch has this value on a resource from now on, and below it until a nearer one says otherwise."""

    resource: ResourceId
    setting: str
    value: str
    name: str = "setting.change"

    def decide(self, view: CommandContext) -> CommandEffect:
        """Need the action `set_` and the switch's name there; what no role gives, such as a plan, the deployment sets.

        The question's parameter `mode` is the new value.
        """
        place = view.target(self.resource)
        view.require_action(f"{place.type}.set_{self.setting}", place.id, given={"mode": (self.value,)})
        known = [setting for model in view.models.values() if (setting := model.settings.get(self.setting))]
        if not any(setting.on == place.type for setting in known):
            raise InvalidError(f"no access model in force has a setting `{self.setting}` on this")
        values = tuple(dict.fromkeys(value for setting in known for value in setting.values))
        if self.value not in values:
            raise InvalidError(f"`{self.setting}` is one of {', '.join(values)}, not `{self.value}`")
        return CommandEffect((SettingChanged(place.id, self.setting, self.value),))
