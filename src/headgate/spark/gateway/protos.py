"""The protobuf messages of Spark Connect, imported without the rest of PySpark.

`pyspark`, `pyspark.sql` and `pyspark.sql.connect` import numpy, py4j and the classic engine (1.6 s, against 0.1 s for
the messages alone). So the message modules are imported below empty parent packages, which have only a search path.
The empty parents are removed afterwards, and a later `import pyspark` imports the real package.
"""

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

_PARENTS = ("pyspark", "pyspark.sql", "pyspark.sql.connect", "pyspark.sql.connect.proto")


def _bare(name: str, root: Path) -> ModuleType:
    module = ModuleType(name)
    module.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
    return module


@contextmanager
def _bare_parents() -> Iterator[None]:
    """Allow the import of the message modules without running the `__init__` of any parent package."""
    spec = None if "pyspark" in sys.modules else importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        yield
        return
    sys.modules.update({name: _bare(name, Path(spec.origin).parent) for name in _PARENTS})
    try:
        yield
    finally:
        for name in _PARENTS:
            del sys.modules[name]


with _bare_parents():
    from pyspark.sql.connect.proto import base_pb2 as base
    from pyspark.sql.connect.proto import commands_pb2 as commands
    from pyspark.sql.connect.proto import ml_common_pb2 as ml
    from pyspark.sql.connect.proto import relations_pb2 as relations

__all__ = ["base", "commands", "ml", "relations"]
