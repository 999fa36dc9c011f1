"""What a part of the soak says that it counted: `tools/soak` shows it in its summary."""

import sys
from typing import Final

COUNTED: Final = "counted: "


def count(line: str) -> None:
    """Say in one line what was counted."""
    sys.stdout.write(f"\n{COUNTED}{line}\n")
