"""Garbage collection of a server's process: most objects live as long as the server, so the collector should not examine them.

A server inside another program leaves the collector as it is.
"""

import gc
from typing import Final

_NEW_OBJECTS: Final = 10_000
"""The number of new objects after which the collector runs. A request creates about a hundred, and hardly any in cycles."""


def exempt_loaded_objects() -> None:
    """Exempt all objects that exist now from later collections, and collect less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS)
