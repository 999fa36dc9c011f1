"""What a part of the soak says that it counted, which `tools/soak` shows in its summary, and where logs are kept."""

import sys
from pathlib import Path
from typing import Final

LOGS: Final = Path(__file__).resolve().parent.parent / ".soak"
COUNTED: Final = "counted: "


def count(line: str) -> None:
    """Say in one line what was counted."""
    sys.stdout.write(f"\n{COUNTED}{line}\n")
