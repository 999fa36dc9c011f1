"""The gateway imports only the messages of Spark Connect from PySpark."""

import subprocess
import sys

LIGHT = """
import sys
import headgate.spark.gateway.server
assert not {"pyspark", "numpy", "pandas"} & set(sys.modules), sorted(sys.modules)
assert "pyarrow" not in sys.modules, "rows of clients are read in another process"
"""
AND_THEN_PYSPARK = """
from headgate.spark.gateway.protos import base
import pyspark.sql.connect.proto as proto
from pyspark.sql.connect.proto import base_pb2
assert proto.Plan is base.Plan and base_pb2 is base
from pyspark.sql.connect.session import SparkSession
"""


def run(source: str) -> None:
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_gateway_imports_no_more_of_pyspark_than_its_messages() -> None:
    run(LIGHT)


def test_pyspark_can_be_imported_after_the_gateway() -> None:
    run(AND_THEN_PYSPARK)
