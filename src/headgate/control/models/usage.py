"""Use of access models: the organizations in which a model decides."""

from headgate.control.organizations.organization import Organizations


def list_users(organizations: Organizations, model: str) -> tuple[str, ...]:
    """Return the names of the listed organizations in which the model decides, sorted. Raises `StoreError` if one is unreadable."""
    named = organizations.names_by_id
    return tuple(sorted(named[id] for id in named if model in organizations.open(id).control.snapshot.models_in_force))
