"""The checkpoint folders of streams, one for each organization, and the migration of those of an earlier version."""

from pathlib import Path

from headgate.control.organizations.organization import Organizations


def move_checkpoints(folder: Path, organizations: Organizations) -> None:
    """Move the checkpoint folders of pipelines, which an earlier version kept in one folder, to their organizations.

    A stream without its checkpoint would read everything again. Raises `OSError` if a folder cannot be moved.
    """
    if not folder.is_dir():
        return
    known = set(organizations.stores.logs())
    for former in [each for each in folder.iterdir() if each.name not in known]:
        owners = (each.id for each in organizations.readable() if former.name in each.control.snapshot.resources)
        owner = next(owners, None)
        if owner is not None:
            (folder / owner).mkdir(mode=0o700, exist_ok=True)
            former.rename(folder / owner / former.name)
