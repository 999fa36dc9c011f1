"""What a driver is started with: its command, its environment, and the configuration that nobody overrides."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from headgate.control.pipelines.clusters import EMBEDDED
from headgate.sandbox import SandboxLevel
from headgate.spark.driver.clusters import Cluster
from headgate.spark.driver.ports import DriverPorts
from headgate.spark.toolchain.jars import spark_jars

_EXTENSIONS = (
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions,io.headgate.guard.rules.GuardExtensions"
)
"""Iceberg brings views, branches and partition fields; the guard stands last, so that it sees what they became."""
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
"""The packages of java.base that Spark reaches into (its own `JavaModuleOptions`)."""
_NOT_READ = (
    *("java.rmi", "javax.management", "javax.naming", "javax.script", "javax.swing", "java.beans", "com.sun", "sun"),
    *(
        "org.apache.commons.collections.functors",
        "org.apache.commons.collections4.functors",
        "org.apache.commons.beanutils",
    ),
    *("com.mchange", "com.zaxxer", "groovy", "org.codehaus", "javassist", "org.springframework", "org.python"),
)
"""The packages whose objects Java's serialization does not read back: those that are known to act when they are read."""
CLOSED = (
    # Nothing is loaded by an XML document, a name service or a remote object that data names.
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
    # No other process of this user loads code into it.
    "-XX:+DisableAttachMechanism",
    # Bytes of a sketch say how long they are; the library checks that in assertions only.
    "-ea:org.apache.datasketches...",
    "-Djdk.serialFilter=" + ";".join((*(f"!{each}.**" for each in _NOT_READ), "maxdepth=10000")),
)
"""What a driver's JVM does not do, whatever a statement makes Spark try."""
STACK_MIB: Final = 16
"""Of each thread, taken as it is used: Spark works on plans and expressions by recursion."""
THREAD_POOLS: Final = {
    # More than statements at once (`gateway.operations.PER_DRIVER`) and subqueries: they wait for threads of this pool.
    "spark.sql.resultQueryStage.maxThreadThreshold": 576,
    "spark.sql.shuffleExchange.maxThreadThreshold": 256,
    "spark.sql.broadcastExchange.maxThreadThreshold": 64,
    "spark.sql.subquery.maxThreadThreshold": 16,
}
"""The most threads of Spark's pools. A pool takes a new thread for each task until it has so many, and keeps it for a minute."""
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TZ")
_OF_KUBERNETES = ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")
"""How Spark's client of Kubernetes finds its way and its account."""


@dataclass(frozen=True, slots=True)
class DriverSandbox:
    """How much of the sandbox is enforced, and the folders and ports of one driver beside its own."""

    level: SandboxLevel = SandboxLevel.NONE
    writes: tuple[Path, ...] = ()
    """The folders of its organization: tables, checkpoints, files of runs."""
    reads: tuple[Path, ...] = ()
    forbidden: tuple[str, ...] = ()
    """What it must not be able to open, or it does not start."""
    connects: tuple[int, ...] = ()
    """The ports of the server that it connects to: the API, and the relay of databases."""


@dataclass(frozen=True, slots=True)
class DriverSettings:
    """What one driver is started with. `conf` is Spark configuration beside what is fixed, the lake's above all."""

    java: Path
    guard_jar: Path
    iceberg_jar: Path
    postgresql_jar: Path
    log: Path
    scratch: Path
    decision_url: str
    name: str = "main"
    """What it is called among the drivers."""
    conf: Mapping[str, str] = field(default_factory=dict[str, str])
    cluster: Cluster = field(default_factory=lambda: Cluster(EMBEDDED))
    statement_seconds: float = 0.0
    """The longest that a statement may run; 0 sets no limit. Streams have none."""
    free_disk_mib: int = 1024
    """How much of the disk with the scratch folder statements leave free."""
    sandbox: DriverSandbox = field(default_factory=DriverSandbox)

    @property
    def jars(self) -> tuple[Path, ...]:
        """What stands on the classpath of driver and executors beside Spark's own jars."""
        return self.guard_jar, self.iceberg_jar, self.postgresql_jar


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
    """Return how the JVM is started. Nothing secret stands in it."""
    hadoop = (str(settings.cluster.hadoop),) if settings.cluster.hadoop else ()
    jars = (*map(str, settings.jars), f"{spark_jars()}{os.sep}*", *hadoop)
    return (
        str(settings.java),
        f"-Xmx{settings.cluster.memory}",
        "-XX:+UseParallelGC",
        "-XX:+ExitOnOutOfMemoryError",
        "-XX:-UseGCOverheadLimit",  # the guard ends the statement that fills the heap, and needs the time
        "-XX:+IgnoreUnrecognizedVMOptions",
        "-Xshare:auto",
        *CLOSED,
        f"-Xss{STACK_MIB}m",
        f"-Djava.io.tmpdir={settings.scratch}",
        "-Djdk.reflect.useDirectMethodHandle=false",
        "-Dio.netty.tryReflectionSetAccessible=true",
        "--enable-native-access=ALL-UNNAMED",
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED),
        f"-javaagent:{settings.guard_jar}",
        "-cp",
        os.pathsep.join(jars),
        "io.headgate.guard.driver.DriverMain",
    )


def environment(cluster: Cluster) -> dict[str, str]:
    """Return the few variables that a JVM needs; what else the parent has in its environment is not the driver's."""
    names = (*_KEPT, *(_OF_KUBERNETES if cluster.master.startswith("k8s") else ()))
    kept = {name: os.environ[name] for name in names if name in os.environ}
    hadoop = {"HADOOP_CONF_DIR": str(cluster.hadoop)} if cluster.hadoop else {}
    own = {"SPARK_LOCAL_IP": cluster.listening, "SPARK_USER": "headgate", "SPARK_HOME": str(spark_jars().parent)}
    return kept | hadoop | own


def build_properties(settings: DriverSettings, ports: DriverPorts) -> dict[str, str]:
    """Return the configuration of every driver; what guards it stands last and cannot be overridden."""
    return {
        "spark.master": settings.cluster.master,
        "spark.app.name": "headgate",
        "spark.sql.shuffle.partitions": "8",
        **settings.cluster.conf,
        **settings.conf,
        **({} if settings.cluster.is_remote else _own_ports(ports)),
        "spark.ui.enabled": "false",
        # What Spark keeps of ended work, also where it shows it to no user; of tasks, for each stage.
        "spark.ui.retainedJobs": "100",
        "spark.ui.retainedStages": "100",
        "spark.ui.retainedTasks": "100",
        "spark.sql.ui.retainedExecutions": "1",  # Spark keeps the plans of statements that have ended, with their constants
        "spark.sql.maxPlanStringLength": "4194304",  # as EXPLAIN shows it, and Spark keeps it
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
        "spark.sql.analyzer.maxIterations": "1000",  # each filter in a chain takes one
        "spark.sql.sortMergeJoinExec.buffer.in.memory.threshold": "4096",  # rows of one key; more of them go to disk
        "spark.sql.execution.topKSortFallbackThreshold": "100000",  # room for twice as many rows is made at once
        "spark.executor.killOnFatalError.depth": "0",  # a stack that is too small fails the task, not the driver
        "spark.sql.parquet.enableVectorizedReader": "false",  # of users' files: a batch repeats a value for 4,096 rows
        "spark.sql.scripting.enabled": "true",
        "spark.sql.artifact.isolation.enabled": "true",
        "spark.sql.streaming.forceDeleteTempCheckpointLocation": "true",
        "spark.sql.streaming.fileStreamSink.ignoreMetadata": "true",
        "spark.sql.connect.serverStacktrace.enabled": "false",
        **{key: str(threads) for key, threads in THREAD_POOLS.items()},
        "spark.driver.maxResultSize": f"{settings.cluster.heap_mib // 4}m",
        "spark.sql.maxBroadcastTableSize": f"{settings.cluster.heap_mib // 8}m",
        "spark.connect.session.planCache.maxSize": "0",  # the guard sees no plan that Spark has analyzed before
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(ports.connect),
        "headgate.decision.url": settings.decision_url,
        "headgate.statement.seconds": str(settings.statement_seconds),
        "headgate.disk.reserve": str(settings.free_disk_mib * 1024**2),
        "spark.executor.heartbeatInterval": "2s",  # tells how much a task has written; the disk may be full soon
        "spark.connect.grpc.interceptor.classes": "io.headgate.guard.driver.GatewayTokenInterceptor,io.headgate.guard.driver.StatementErrors",
        # Any process of this machine reaches the ports for executors, which give rows and files and read Java's objects.
        "spark.authenticate": "true",
        "spark.network.crypto.enabled": "true",
        "spark.network.crypto.saslFallback": "false",
        **(_build_cluster_properties(settings) if settings.cluster.is_remote else {}),
    }


def _own_ports(ports: DriverPorts) -> dict[str, str]:
    """Return where the embedded driver listens beside its sessions: its sandbox allows no other ports."""
    return {"spark.driver.port": str(ports.driver), "spark.driver.blockManager.port": str(ports.blocks)}


def _build_cluster_properties(settings: DriverSettings) -> dict[str, str]:
    """Return how a driver and executors in other processes find and trust each other. The embedded one makes a secret for itself."""
    secret = settings.cluster.secret_file
    return {
        "spark.submit.deployMode": "client",
        "spark.jars": ",".join(map(str, settings.jars)),
        "spark.io.encryption.enabled": "true",
        "spark.task.reaper.enabled": "true",
        "spark.task.reaper.killTimeout": "15s",
        **({"spark.authenticate.secret": secret.read_text(encoding="utf-8").strip()} if secret else {}),
    }
