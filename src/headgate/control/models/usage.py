"""Use of access models: the organizations in which a model decides, and what that means for its removal."""

from contextlib import suppress

from headgate.control.kernel.errors import AlreadyExistsError
from headgate.control.models.commands import InstallModel, RemoveModel
from headgate.control.organizations.organization import Organizations


def list_users(organizations: Organizations, model: str) -> tuple[str, ...]:
    """Return the names of the listed organizations in which the model decides, sorted. Raises `StoreError` if one is unreadable."""
    named = organizations.names_by_id
    return tuple(sorted(named[id] for id in named if model in organizations.open(id).control.snapshot.models_in_force))


def require_unused(organizations: Organizations, model: str) -> None:
    """Raise `InvalidError` after the removal of a model that an organization chose meanwhile; the model is installed again.

    A removal lists the organizations before it is written to the deployment's log, and a choice of a model is written to the
    organization's log after the model was found installed. So each looks again after its entry: one of them sees the other's.
    """
    reinstall_used_model(organizations, model)
    if users := list_users(organizations, model):
        organizations.deployment.control.preview(RemoveModel(model, users), None)


def reinstall_used_model(organizations: Organizations, model: str) -> None:
    """Install a model again that was removed while an organization chose it; see `require_unused`."""
    organizations.refresh()
    control = organizations.deployment.control
    known = control.snapshot.installed_models.get(model)
    if known is None or not known.is_removed or not list_users(organizations, model):
        return
    source = organizations.models.find(known.hash)
    if source is not None:
        with suppress(AlreadyExistsError):  # the other one was first
            control.execute(InstallModel(source, known.is_shipped), None)
