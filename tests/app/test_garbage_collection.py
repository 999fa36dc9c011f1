"""Garbage collection of a server's process, in a process of its own."""

import subprocess
import sys

PROGRAM = """
import gc
from headgate.app.garbage_collection import exempt_loaded_objects
kept = [[] for _ in range(1000)]
exempt_loaded_objects()
print(gc.get_freeze_count() >= 1000, gc.get_threshold()[0], gc.isenabled())
"""


def test_the_objects_of_a_started_server_are_exempt_from_collections() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["True", "10000", "True"]
