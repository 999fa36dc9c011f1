"""Figures of the soak run, which `tools/soak` shows in its summary, and the folder of its logs."""

import sys
from pathlib import Path
from typing import Final

LOGS: Final = Path(__file__).resolve().parent.parent / ".soak"
COUNTED: Final = "counted: "


def count(line: str) -> None:
    """Print a counted figure in one line."""
    sys.stdout.write(f"\n{COUNTED}{line}\n")
