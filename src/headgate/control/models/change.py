"""Changes of the models of an organization: the command, its effects, and the confirmation that it needs."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Final

from headgate.control.kernel.errors import CommandError, InvalidError
from headgate.control.kernel.metadata import INTERNAL, ChangedError, CommandMetadata
from headgate.control.models.change_commands import AuthorizeModelChange, ChangeHomeModel, GovernProject, UpgradeModel
from headgate.control.models.installations import require_installed
from headgate.control.models.usage import reinstall_used_model
from headgate.control.organizations.organization import Organization, Organizations
from headgate.decision.diff.compare import EvaluatedSide
from headgate.decision.diff.results import Impact
from headgate.decision.diff.what_if import compute_difference
from headgate.decision.evaluator import Answers
from headgate.facts.caller import Caller
from headgate.facts.ids import ResourceId
from headgate.facts.snapshot import NOTHING_HELD, Assignment, Snapshot
from headgate.model.model import Model

ModelChange = UpgradeModel | ChangeHomeModel | GovernProject

_TRIES: Final = 5
"""The number of tries of a change while others write to the log of the organization."""


class ConfirmationRequiredError(CommandError):
    """The change was not confirmed, or it has other effects than the confirmed ones."""

    def __init__(self, preview: "ModelChangePreview") -> None:
        flips = sum(1 for _ in preview.impact.flips())
        super().__init__(
            f"the change of the access model alters {flips} decisions, and {len(preview.lost)} assignments lose their meaning; read "
            f"the effects with a dry run, and repeat the request with the confirmation `{preview.confirmation}`"
        )


@dataclass(frozen=True, slots=True)
class RequestedModel:
    """A model for an organization: its name, its version (None: see `build_change`), and the project (None: the organization).

    With `is_upgrade`, the model is upgraded wherever it decides, also if another one is the home model.
    """

    name: str
    version: int | None = None
    project: ResourceId | None = None
    is_upgrade: bool = False


@dataclass(frozen=True, slots=True)
class ModelChangePreview:
    """The effects of a change on the facts of one revision. It `is_needed` unless the model is in force already.

    `lost` are the assignments that give a role before the change and none after it. `sections` are the parts of the model that
    differ from the model that decides now: not every rule alters a decision on these facts.
    """

    command: ModelChange
    is_needed: bool
    facts: Snapshot
    impact: Impact
    lost: tuple[Assignment, ...]
    sections: tuple[str, ...] = ()

    @property
    def confirmation(self) -> str:
        """The text that confirms exactly these effects of this change."""
        effects = sorted(map(repr, (*self.impact.effects, *self.impact.pipelines, *self.lost)))
        place = getattr(self.command, "project", None) or self.facts.organization or ""
        former = sorted(map(repr, self.facts.model_hashes.items()))
        said = "\n".join((self.command.name, place, self.command.model.hash, *former, *effects))
        return hashlib.sha256(said.encode()).hexdigest()[:16]


def build_change(organizations: Organizations, organization: Organization, wanted: RequestedModel) -> ModelChange:
    """Return the command that puts a model in force. Raises `InvalidError` if the model or its version is not installed.

    An upgrade without a version is to the current one. Otherwise a model that decides in the organization keeps its version,
    because one version of a model decides in the whole organization.
    """
    facts = organization.control.snapshot
    is_upgrade = wanted.is_upgrade or (wanted.project is None and wanted.name == facts.model)
    is_kept = wanted.version is None and not is_upgrade and wanted.name in facts.models_in_force
    model = organization.control.models[wanted.name] if is_kept else _find_version(organizations, wanted)
    if is_upgrade:
        return UpgradeModel(model)
    return ChangeHomeModel(model) if wanted.project is None else GovernProject(wanted.project, model)


def preview_change(organization: Organization, command: ModelChange) -> ModelChangePreview:
    """Return the effects of a change. Raises a `CommandError` if it is refused."""
    control = organization.control
    before, now = control.answers, control.now
    if before.facts.is_suspended:
        raise InvalidError(
            "the organization is suspended, so no decision shows the effects of the change; resume it first"
        )
    effect = control.preview(command, None)
    after = control.simulate(before, effect.changes)
    impact = compute_difference(EvaluatedSide(before, now), EvaluatedSide(after, now))
    lost = tuple(_list_lost(before, after))
    previewed = replace(command, previewed=before.facts.revision)
    former = before.models.get(command.model.name, control.model)
    return ModelChangePreview(
        previewed, bool(effect.changes), before.facts, impact, lost, _list_sections(former, command.model)
    )


def _list_sections(former: Model, new: Model) -> tuple[str, ...]:
    """Return the parts in which two models differ, as the names of their fields, except name, version and hash."""
    names = (each.name for each in fields(Model) if each.name not in ("name", "version", "hash"))
    return tuple(name for name in names if getattr(former, name) != getattr(new, name))


def change_model(
    organizations: Organizations,
    organization: Organization,
    wanted: RequestedModel,
    confirmation: str | None,
    caller: Caller | None = None,
    call: CommandMetadata = INTERNAL,
) -> ModelChangePreview:
    """Change the model in the log of an organization, by one entry, and return the effects.

    Raises `ConfirmationRequiredError` unless `confirmation` is that of the effects. Writes nothing if the model is in force
    already. The right of the caller is decided before the effects are computed, and written to the deployment's log directly
    before the change: no model changes without an entry that names the operator.
    """
    deployment = organizations.deployment.control
    deployment.preview(AuthorizeModelChange(organization.id), caller, call)
    for _ in range(_TRIES):
        preview = preview_change(organization, build_change(organizations, organization, wanted))
        if not preview.is_needed:
            return preview
        if confirmation != preview.confirmation:
            raise ConfirmationRequiredError(preview)
        deployment.execute(AuthorizeModelChange(organization.id, wanted.name), caller, call)
        try:
            organization.control.execute(preview.command, None, call)
        except ChangedError:
            continue
        reinstall_used_model(organizations, wanted.name)
        return preview
    raise ChangedError(
        "the organization changes all the time, so the effects cannot be confirmed; retry the request later"
    )


def _find_version(organizations: Organizations, wanted: RequestedModel) -> Model:
    """Return the current version of an installed model, or the installed version of this number."""
    facts, sources = organizations.deployment.control.snapshot, organizations.models
    current = require_installed(facts, sources, wanted.name).model
    if wanted.version is None:
        return current
    installed = facts.installed_models[wanted.name]
    known = dict(zip(installed.numbers, installed.versions, strict=True))
    found = sources.find(known.get(wanted.version, ""))
    if found is None:
        raise InvalidError(
            f"version {wanted.version} of the access model `{wanted.name}` is not installed; choose from "
            f"{', '.join(map(str, sorted(known)))}"
        )
    return found.model


def _list_lost(before: Answers, after: Answers) -> Mapping[Assignment, None]:
    """Return the assignments that give a role before and none after, in order."""
    held = (given for each in before.facts.assignments.values() for given in each.values())
    return {each: None for each in held if _gives(before, each) and not _gives(after, each)}


def _gives(answers: Answers, given: Assignment) -> bool:
    """Whether an assignment gives a role: one of that name can be assigned there under the model that decides there."""
    facts, place = answers.facts, answers.facts.resources.get(given.resource)
    current = facts.assignments.get(given.subject, NOTHING_HELD).get((given.role, given.resource, given.reason))
    if place is None or current is None or current.model not in facts.find_governing_models(place.id):
        return False
    model = answers.models[current.model]
    role, custom = model.roles.get(given.role), model.custom_roles
    is_custom = custom is not None and place.type in custom.on and given.role in facts.custom_roles
    return is_custom or (role is not None and place.type in role.on)
