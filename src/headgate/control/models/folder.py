"""The folder of model files: each file is installed when Headgate starts, for deployments that are managed as files."""

from pathlib import Path
from typing import Final

from headgate.control.control import Control
from headgate.control.kernel.errors import CommandError
from headgate.control.kernel.ports import StoreError
from headgate.control.models.commands import InstallModel
from headgate.control.models.library import load_source
from headgate.model.diagnostics import ModelError

_PATTERN: Final = "*.yaml"


def install_folder(deployment: Control, folder: Path) -> None:
    """Install every model file of a folder that is not installed yet. Raises `StoreError` if one cannot be installed."""
    if not folder.is_dir():
        raise StoreError(
            f"the folder of access models `{folder}` does not exist; create it, or correct `HEADGATE_MODELS`"
        )
    try:
        texts = {file: file.read_text(encoding="utf-8") for file in sorted(folder.glob(_PATTERN))}
        for file, source in texts.items():
            model = load_source(source, str(file))
            known = deployment.snapshot.installed_models.get(model.model.name)
            # A version that was installed once is not installed again: an operator may have replaced or removed it since.
            if known is None or model.model.hash not in known.versions:
                deployment.execute(InstallModel(model), None)
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(
            f"the folder of access models `{folder}` cannot be read ({error}); check its path and permissions"
        ) from error
    except (ModelError, CommandError) as error:
        raise StoreError(
            f"the folder of access models `{folder}` has a model that cannot be installed: {error}"
        ) from error
