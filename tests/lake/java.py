"""Iceberg's own parser of table metadata, in a JVM without Spark."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from headgate.spark.toolchain.prepare import Toolchain


class JavaReader:
    """Opens metadata like every Java engine."""

    def __init__(self, jvm: Any) -> None:
        self._jvm = jvm

    def fault(self, metadata: str) -> str | None:
        """Return why Java does not open the metadata of a table or view, or None."""
        try:
            if '"view-uuid"' in metadata:
                self._jvm.org.apache.iceberg.view.ViewMetadataParser.fromJson(metadata)
                return None
            read = self._jvm.org.apache.iceberg.TableMetadataParser.fromJson(metadata)
            for schema in read.schemas():
                schema.findField("any")
                schema.identifierFieldNames()
            for spec in read.specs():
                spec.partitionType()
            read.currentSnapshot()
        except Exception as error:  # noqa: BLE001 (any error of Java is a fault)
            return str(getattr(error, "java_exception", error))
        return None


@contextmanager
def java_reader(tools: Toolchain) -> Iterator[JavaReader]:
    """Run a JVM until the block ends."""
    jars = f"{pyspark.__path__[0]}/jars/*"
    port: Any = launch_gateway(classpath=f"{tools.iceberg_jar}:{jars}", java_path=str(tools.java), die_on_exit=True)
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))
    try:
        yield JavaReader(gateway.jvm)
    finally:
        gateway.shutdown()
