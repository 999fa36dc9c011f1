"""Where pipelines' streams keep their progress: in a folder for each organization, into which earlier ones are moved."""

from pathlib import Path

from headgate.control.organizations.organization import Organizations


def move_checkpoints(folder: Path, organizations: Organizations) -> None:
    """Move the folders of pipelines that an earlier version made beside each other into those of their organizations.

    A stream whose progress is lost would read everything again. Raises `OSError` if a folder cannot be moved.
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
