"""YAML files that users write: definitions of pipelines, changes and hypothetical steps. JSON is YAML too."""

from pathlib import Path
from typing import Any

import typer
import yaml

from headgate.cli.errors import ApiError, describe_unreadable


def read_yaml(file: Path) -> Any:
    """Return the content of a YAML file; `-` is stdin. Raises `ApiError` if it cannot be read or is not YAML."""
    try:
        text = typer.get_text_stream("stdin").read() if str(file) == "-" else file.read_text(encoding="utf-8")
        return yaml.safe_load(text)
    except (OSError, UnicodeDecodeError) as error:
        raise ApiError(describe_unreadable(file, error)) from None
    except yaml.YAMLError as error:
        raise ApiError(f"`{file}` is not valid YAML ({' '.join(str(error).split())}); correct the file") from None
