package io.headgate.guard.connections

import java.util.{Map => JavaMap}

import scala.jdk.CollectionConverters._

import io.headgate.guard.memory.SessionMemory
import io.headgate.guard.policy.Refusal
import io.headgate.guard.scheduling.{DiskUse, DiskWatch, Limiter, TaskTurns, Workload}
import org.apache.spark.{LocalScheduler, SparkContext}
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, PluginContext, SparkPlugin}

/**
 * The guard's Spark plugin: executors in processes of their own ask the driver for the URL and the password of a database. Its
 * driver part starts the limiter, too.
 */
final class ConnectionsPlugin extends SparkPlugin {
  override def driverPlugin(): DriverPlugin = new DriverPlugin {
    override def init(spark: SparkContext, context: PluginContext): JavaMap[String, String] = {
      val workload = new Workload
      val disks = new DiskUse(workload)
      Seq(workload, disks, TaskTurns, SessionMemory.Ends).foreach(spark.addSparkListener)
      new Limiter(spark, workload, new DiskWatch(spark, disks)).start()
      LocalScheduler.begin(spark)
      java.util.Collections.emptyMap()
    }

    override def receive(message: AnyRef): AnyRef = message match {
      case reference: String => ConnectionsPlugin.told(ConnectionProvider.known(reference))
      case _ => Refusal.because("internal error: a Spark executor sent a message that is no reference to a connection; report it")
    }
  }

  override def executorPlugin(): ExecutorPlugin = new ExecutorPlugin {
    override def init(context: PluginContext, configuration: JavaMap[String, String]): Unit =
      System.getProperties.put(ConnectionsPlugin.Way, context)
  }
}

/**
 * The messages between executors and the driver. An executor may load this class more than once, for the jars of each session.
 * So the channel to the driver is in the system properties, where every copy finds it, and messages consist of Java's own
 * classes.
 */
object ConnectionsPlugin {
  private val Way = "headgate.way-to-the-driver"
  private val Connection = "connection"
  private val Url = "url"
  private val Prefix = "property."

  private[guard] def ask(reference: String): JdbcAccess = System.getProperties.get(Way) match {
    case way: PluginContext => way.ask(reference) match {
      case told: JavaMap[_, _] => heard(told.asScala.map { case (key, value) => key.toString -> value.toString }.toMap)
      case _ => Refusal.because("the Spark driver gave its executor no access to the external database; run the statement again")
    }
    case _ => Refusal.because("the Spark executor cannot ask the Spark driver for access to the external database, because Headgate's plugin has not started in the executor; ask the operator to check the executor's log")
  }

  private def told(access: JdbcAccess): AnyRef = {
    val parts = access.properties.map { case (key, value) => s"$Prefix$key" -> value }
    new java.util.HashMap[String, String]((parts ++ Map(Connection -> access.connection, Url -> access.url)).asJava)
  }

  private def heard(told: Map[String, String]): JdbcAccess = {
    val properties = told.collect { case (key, value) if key.startsWith(Prefix) => key.stripPrefix(Prefix) -> value }
    JdbcAccess(told(Connection), told(Url), properties)
  }
}
