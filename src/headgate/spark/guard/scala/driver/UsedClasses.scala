package io.headgate.guard.driver

import java.net.ServerSocket
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Path
import java.util.UUID
import java.util.jar.JarFile

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import io.headgate.guard.client.DriverKey
import org.apache.spark.connect.proto.{ExecutePlanRequest, Plan, Relation, SparkConnectServiceGrpc, SQL, UserContext}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connect.service.SparkConnectService
import org.sparkproject.connect.grpc.Metadata
import org.sparkproject.connect.grpc.netty.NettyChannelBuilder
import org.sparkproject.connect.grpc.stub.MetadataUtils

/**
 * Loads the classes that a driver uses until its first statements have run, for the class-data archive of drivers.
 *
 * It runs without the agent and the rules of the guard, in a process of its own with a lake of its own, when the archive is made.
 * The arguments are a folder for the lake and the guard's jar.
 */
object UsedClasses {
  private val Statements = Seq(
    "CREATE NAMESPACE lake.d",
    "CREATE TABLE lake.d.t (id BIGINT, name STRING, day DATE, price DECIMAL(10, 2)) USING iceberg PARTITIONED BY (day)",
    "INSERT INTO lake.d.t SELECT id, 'n' || id, DATE '2026-01-01' + CAST(id % 2 AS INT), id / 3 FROM range(9)",
    "SELECT 1",
    "SELECT t.day, count(*) AS n, sum(u.price) FROM lake.d.t JOIN lake.d.t u USING (id) WHERE t.name LIKE 'n%' GROUP BY t.day ORDER BY n",
    "MERGE INTO lake.d.t USING (SELECT id FROM range(3)) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = 'm'",
    "WITH c AS (SELECT id, rank() OVER (ORDER BY price) AS r FROM lake.d.t) SELECT * FROM c WHERE r IN (SELECT max(r) FROM c)",
    "SHOW TABLES IN lake.d",
    "DROP TABLE lake.d.t",
    "SELECT * FROM remote.d.t", // fails, because nothing listens at the address, after it has loaded the classes of the client
  )

  def main(arguments: Array[String]): Unit = {
    val Array(lake, guard) = arguments
    val port = Using.resource(new ServerSocket(0))(_.getLocalPort)
    val token = UUID.randomUUID.toString
    DriverKey.install(token.getBytes(UTF_8), token) // no other process of this machine can run a statement here
    val spark = startSession(lake, port)
    SparkConnectService.start(spark.sparkContext)
    Statements.foreach(run(port, token))
    loadGuard(guard)
    SparkConnectService.stop()
    spark.stop()
  }

  private def startSession(lake: String, port: Int): SparkSession =
    SparkSession
      .builder()
      .master("local[2]")
      .config("spark.ui.enabled", "false")
      .config("spark.local.dir", lake)
      .config("spark.driver.host", "127.0.0.1")
      .config("spark.driver.bindAddress", "127.0.0.1")
      .config("spark.authenticate", "true")
      .config("spark.network.crypto.enabled", "true")
      .config("spark.scheduler.mode", "FAIR")
      .config("spark.connect.grpc.binding.address", "127.0.0.1")
      .config("spark.connect.grpc.binding.port", port)
      .config("spark.connect.grpc.interceptor.classes", classOf[GatewayTokenInterceptor].getName)
      .config("spark.sql.parquet.enableVectorizedReader", "false")
      .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
      .config("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")
      .config("spark.sql.catalog.lake.type", "hadoop")
      .config("spark.sql.catalog.lake.warehouse", Path.of(lake, "warehouse").toString)
      .config("spark.sql.catalog.remote", "org.apache.iceberg.spark.SparkCatalog")
      .config("spark.sql.catalog.remote.type", "rest")
      .config("spark.sql.catalog.remote.uri", "http://127.0.0.1:1")
      .getOrCreate()

  /** Run a statement as the gateway does: the planner, the executor and the server of Spark Connect have many classes. */
  private def run(port: Int, token: String)(statement: String): Unit = {
    val headers = new Metadata
    headers.put(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), s"Bearer $token")
    val channel = NettyChannelBuilder.forAddress("127.0.0.1", port).usePlaintext().build()
    val plan = Plan.newBuilder.setRoot(Relation.newBuilder.setSql(SQL.newBuilder.setQuery(statement)))
    val request = ExecutePlanRequest.newBuilder
      .setSessionId(UUID.randomUUID.toString)
      .setUserContext(UserContext.newBuilder.setUserId("archive"))
      .setPlan(plan)
      .build()
    val stub = SparkConnectServiceGrpc.newBlockingStub(channel).withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers))
    try stub.executePlan(request).asScala.foreach(_ => ())
    catch { case NonFatal(error) => System.err.println(s"$statement: $error") }
    finally channel.shutdownNow()
  }

  /** Load the classes of the guard without starting them: they work only in a driver. */
  private def loadGuard(jar: String): Unit =
    Using.resource(new JarFile(jar)) { file =>
      for (entry <- file.entries.asScala if entry.getName.endsWith(".class"))
        try Class.forName(entry.getName.stripSuffix(".class").replace('/', '.'), false, getClass.getClassLoader)
        catch { case _: LinkageError => }
    }
}
