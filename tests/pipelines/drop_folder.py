"""A folder of incoming files behind a connection, and a deployment whose pipelines read it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.pipelines.spark_deployment import ByHand


@dataclass(frozen=True)
class Drop:
    """A folder behind a connection, and the deployment whose captures read it."""

    lake: ByHand
    folder: Path

    def put(self, path: str, *lines: str) -> Path:
        """Create a file in the folder."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{line}\n" for line in lines))
        return file

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        """Return the sorted rows of a capture's table."""
        return sorted(self.lake.rows(f"SELECT * FROM lake.raw.{name}"), key=str)

    def progress(self, name: str) -> Path:
        """Return the folder of the stream's checkpoint."""
        deployment = self.lake.server.deployment
        everything = deployment.home.control.snapshot.resources.values()
        (id,) = (each.id for each in everything if each.name == name and each.type == "stream_capture")
        return deployment.external_access.checkpoints(id) / "0"
