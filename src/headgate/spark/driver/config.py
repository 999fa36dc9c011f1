"""The command, environment and configuration of a driver; users cannot override its security settings."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from headgate.control.pipelines.cluster_names import EMBEDDED
from headgate.sandbox import SandboxLevel
from headgate.spark.driver.clusters import Cluster
from headgate.spark.driver.ports import DriverPorts
from headgate.spark.toolchain.jars import classpath, spark_jars
from headgate.spark.toolchain.prepare import Toolchain

_EXTENSIONS = (
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions,io.headgate.guard.rules.GuardExtensions"
)
"""Spark extensions: Iceberg's add views, branches and partition fields; the guard is last, so that it sees their results."""
OPENED = [
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.ref",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar",
]
"""The packages of java.base that Spark accesses by reflection (from its own `JavaModuleOptions`)."""
_NOT_READ = (
    *("java.rmi", "javax.management", "javax.naming", "javax.script", "javax.swing", "java.beans", "com.sun", "sun"),
    *(
        "org.apache.commons.collections.functors",
        "org.apache.commons.collections4.functors",
        "org.apache.commons.beanutils",
    ),
    *("com.mchange", "com.zaxxer", "groovy", "org.codehaus", "javassist", "org.springframework", "org.python"),
)
"""Packages whose objects Java deserialization refuses: they are known to have side effects when they are deserialized."""
CLOSED = (
    # Data cannot make the JVM load anything through an XML document, a name service or a remote object.
    "-Djavax.xml.accessExternalDTD=",
    "-Djavax.xml.accessExternalSchema=",
    "-Djavax.xml.accessExternalStylesheet=",
    "-Djdk.xml.entityExpansionLimit=1000",
    "-Djdk.xml.totalEntitySizeLimit=1000000",
    "-Djdk.xml.maxGeneralEntitySizeLimit=100000",
    "-Dcom.sun.jndi.ldap.object.trustURLCodebase=false",
    "-Dcom.sun.jndi.rmi.object.trustURLCodebase=false",
    "-Djdk.jndi.object.factoriesFilter=!*",
    "-Djdk.jndi.ldap.object.factoriesFilter=!*",
    "-Djdk.jndi.rmi.object.factoriesFilter=!*",
    "-Djava.rmi.server.useCodebaseOnly=true",
    "-Dsun.rmi.registry.registryFilter=!*",
    "-Dsun.rmi.transport.dgcFilter=!*",
    # No other process of the same OS user can load code into the driver.
    "-XX:+DisableAttachMechanism",
    # A sketch states its own length; the library checks it only in assertions.
    "-ea:org.apache.datasketches...",
    "-Djdk.serialFilter=" + ";".join((*(f"!{each}.**" for each in _NOT_READ), "maxdepth=10000")),
)
"""JVM options that disable dangerous features of the driver, independent of what a statement makes Spark do."""
STACK_MIB: Final = 16
"""The stack size of each thread, of which only used pages take memory: Spark traverses plans by recursion."""
THREAD_POOLS: Final = {
    # More than the concurrent statements (`gateway.operations.PER_DRIVER`) and subqueries: these wait for threads of this pool.
    "spark.sql.resultQueryStage.maxThreadThreshold": 688,
    "spark.sql.shuffleExchange.maxThreadThreshold": 256,
    "spark.sql.broadcastExchange.maxThreadThreshold": 64,
    "spark.sql.subquery.maxThreadThreshold": 128,  # a principal has at most 16 of them: UserThreads.scala
}
"""The thread limits of Spark's pools. A pool starts a thread for each task up to its limit, and keeps it for a minute."""
_COUNTED_ROWS: Final = {"spark.storage.unrollMemoryCheckPeriod": 1, "spark.serializer.objectStreamReset": 1}
"""Spark counts each row that it keeps, instead of some, and its writer of objects holds one row at a time."""
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TZ")
_OF_KUBERNETES = ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")
"""The variables by which Spark's Kubernetes client finds the cluster and its account."""


@dataclass(frozen=True, slots=True)
class DriverSandbox:
    """The level of a driver's sandbox, and the folders and ports that it may use in addition to its own."""

    level: SandboxLevel = SandboxLevel.NONE
    writes: tuple[Path, ...] = ()
    """The folders of its organization: tables, checkpoints, files of runs."""
    reads: tuple[Path, ...] = ()
    forbidden: tuple[str, ...] = ()
    """Paths that the driver must not be able to open; if it can, it does not start."""
    connects: tuple[int, ...] = ()
    """The ports of the server to which it may connect: the API, and the database relay."""


@dataclass(frozen=True, slots=True)
class DriverSettings:
    """The settings of one driver. `conf` is Spark configuration in addition to the fixed one, mainly that of the lake."""

    tools: Toolchain
    log: Path
    scratch: Path
    decision_url: str
    name: str = "main"
    """The name of the driver, unique among the drivers."""
    conf: Mapping[str, str] = field(default_factory=dict[str, str])
    cluster: Cluster = field(default_factory=lambda: Cluster(EMBEDDED))
    statement_seconds: float = 0.0
    """The time limit of a statement; 0 means no limit. Streams have no time limit."""
    free_disk_mib: int = 1024
    """The space in MiB that statements must leave free on the disk of the scratch folder."""
    sandbox: DriverSandbox = field(default_factory=DriverSandbox)


def rest_lake(api: str) -> dict[str, str]:
    """Return the configuration of a lake behind the Iceberg REST catalog at `api` (`http://127.0.0.1:8020/iceberg`)."""
    lake = "spark.sql.catalog.lake"
    return {
        f"{lake}.type": "rest",
        f"{lake}.uri": api,
        f"{lake}.rest.auth.type": "io.headgate.guard.client.SignedAuthManager",
        f"{lake}.io-impl": "io.headgate.guard.files.GuardedFileIO",
    }


def java_command(settings: DriverSettings) -> tuple[str, ...]:
    """Return the command that starts the JVM. It contains no secret."""
    hadoop = (str(settings.cluster.hadoop),) if settings.cluster.hadoop else ()
    tools = settings.tools
    archive = (f"-XX:SharedArchiveFile={tools.class_archive}",) if tools.class_archive.exists() else ()
    return (
        str(tools.java),
        f"-Xmx{settings.cluster.memory}",
        "-XX:+UseParallelGC",
        "-XX:+ExitOnOutOfMemoryError",
        "-XX:-UseGCOverheadLimit",  # the guard cancels the statement that fills the heap, and needs time for it
        "-XX:+IgnoreUnrecognizedVMOptions",
        "-Xshare:auto",  # an archive of other jars is ignored
        *archive,
        "-XX:ReservedCodeCacheSize=256m",  # for the code of statements; when it is full, the JVM stops compiling
        *CLOSED,
        f"-Xss{STACK_MIB}m",
        f"-Djava.io.tmpdir={settings.scratch}",
        "-Djdk.reflect.useDirectMethodHandle=false",
        "-Dio.netty.tryReflectionSetAccessible=true",
        "--enable-native-access=ALL-UNNAMED",
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED),
        f"-javaagent:{tools.guard_jar}",
        "-cp",
        os.pathsep.join((classpath(tools.jars), *hadoop)),
        "io.headgate.guard.driver.DriverMain",
    )


def environment(cluster: Cluster) -> dict[str, str]:
    """Return the few environment variables that the JVM needs; it must not see the others of the parent."""
    names = (*_KEPT, *(_OF_KUBERNETES if cluster.master.startswith("k8s") else ()))
    kept = {name: os.environ[name] for name in names if name in os.environ}
    hadoop = {"HADOOP_CONF_DIR": str(cluster.hadoop)} if cluster.hadoop else {}
    own = {"SPARK_LOCAL_IP": cluster.listening, "SPARK_USER": "headgate", "SPARK_HOME": str(spark_jars().parent)}
    return kept | hadoop | own


def build_properties(settings: DriverSettings, ports: DriverPorts) -> dict[str, str]:
    """Return the configuration of a driver; the security settings are last, so that nothing overrides them."""
    return {
        "spark.master": settings.cluster.master,
        "spark.app.name": "headgate",
        "spark.sql.shuffle.partitions": "8",
        **settings.cluster.conf,
        **settings.conf,
        **({} if settings.cluster.is_remote else _own_ports(ports)),
        "spark.ui.enabled": "false",
        # Limits for records of finished work, which Spark keeps even without a UI; the limit of tasks is for each stage.
        "spark.ui.retainedJobs": "100",
        "spark.ui.retainedStages": "100",
        "spark.ui.retainedTasks": "100",
        "spark.sql.ui.retainedExecutions": "1",  # Spark keeps the plans of finished statements, with their constants
        "spark.sql.maxPlanStringLength": "4194304",  # characters of a plan's text in EXPLAIN and in Spark's records
        "spark.scheduler.mode": "FAIR",
        "spark.driver.host": settings.cluster.host,
        "spark.driver.bindAddress": settings.cluster.listening,
        "spark.local.dir": str(settings.scratch),
        "spark.sql.warehouse.dir": str(settings.scratch / "unused"),
        "spark.checkpoint.dir": str(settings.scratch / "checkpoints"),
        "spark.cleaner.referenceTracking.cleanCheckpoints": "true",
        "spark.plugins": "io.headgate.guard.connections.ConnectionsPlugin",
        "spark.hadoop.fs.file.impl": "io.headgate.guard.files.LocalFiles",
        "spark.hadoop.fs.AbstractFileSystem.file.impl": "io.headgate.guard.files.LocalFilesContext",
        "spark.sql.extensions": _EXTENSIONS,
        "spark.sql.catalog.lake": "io.headgate.guard.catalog.GuardedCatalog",
        "spark.sql.catalog.lake.cache-enabled": "false",
        "spark.sql.defaultCatalog": "lake",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.runSQLOnFiles": "false",
        "spark.sql.variable.substitute": "false",
        "spark.sql.analyzer.maxIterations": "1000",  # each filter in a chain takes one iteration
        "spark.sql.sortMergeJoinExec.buffer.in.memory.threshold": "4096",  # rows of one key; further rows spill to disk
        "spark.sql.execution.topKSortFallbackThreshold": "100000",  # memory for twice this number of rows is allocated at once
        "spark.executor.killOnFatalError.depth": "0",  # a stack overflow fails the task, not the driver
        "spark.sql.parquet.enableVectorizedReader": "false",  # for files of users: a batch would repeat a value for 4,096 rows
        "spark.sql.scripting.enabled": "true",
        "spark.sql.artifact.isolation.enabled": "true",
        "spark.sql.streaming.forceDeleteTempCheckpointLocation": "true",
        "spark.sql.streaming.fileStreamSink.ignoreMetadata": "true",
        "spark.sql.connect.serverStacktrace.enabled": "false",
        **{key: str(number) for key, number in (THREAD_POOLS | _COUNTED_ROWS).items()},
        "spark.driver.maxResultSize": f"{settings.cluster.heap_mib // 4}m",
        "spark.sql.maxBroadcastTableSize": f"{settings.cluster.heap_mib // 8}m",
        "spark.connect.session.planCache.maxSize": "0",  # the guard must see each plan before its analysis
        "spark.connect.session.connectML.mlCache.memoryControl.enabled": "false",  # otherwise models are written into files
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(ports.connect),
        "headgate.decision.url": settings.decision_url,
        "headgate.statement.seconds": str(settings.statement_seconds),
        "headgate.disk.reserve": str(settings.free_disk_mib * 1024**2),
        "spark.executor.heartbeatInterval": "2s",  # the heartbeat reports how much a task has written, before the disk is full
        "spark.connect.grpc.interceptor.classes": "io.headgate.guard.driver.GatewayTokenInterceptor,io.headgate.guard.driver.StatementErrors",
        # Every process of this machine reaches the executors' ports, which serve rows and files and read Java objects.
        "spark.authenticate": "true",
        "spark.network.crypto.enabled": "true",
        "spark.network.crypto.saslFallback": "false",
        **(_build_cluster_properties(settings) if settings.cluster.is_remote else {}),
    }


def _own_ports(ports: DriverPorts) -> dict[str, str]:
    """Return the further ports on which the embedded driver listens: its sandbox allows no others."""
    return {"spark.driver.port": str(ports.driver), "spark.driver.blockManager.port": str(ports.blocks)}


def _build_cluster_properties(settings: DriverSettings) -> dict[str, str]:
    """Return how a driver and its remote executors find and authenticate each other; the embedded one generates a secret."""
    secret = settings.cluster.secret_file
    return {
        "spark.submit.deployMode": "client",
        "spark.jars": ",".join(map(str, settings.tools.jars)),
        "spark.io.encryption.enabled": "true",
        "spark.task.reaper.enabled": "true",
        "spark.task.reaper.killTimeout": "15s",
        **({"spark.authenticate.secret": secret.read_text(encoding="utf-8").strip()} if secret else {}),
    }
