package io.headgate.guard

import java.util.{Map => JavaMap}

import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, PluginContext, SparkPlugin}

/** Lets executors in processes of their own ask the driver how a database is entered. */
final class ConnectionsPlugin extends SparkPlugin {
  override def driverPlugin(): DriverPlugin = new DriverPlugin {
    override def receive(message: AnyRef): AnyRef = message match {
      case reference: String => ConnectionProvider.known(reference)
      case _ => Refuse.because("that is no reference")
    }
  }

  override def executorPlugin(): ExecutorPlugin = new ExecutorPlugin {
    override def init(context: PluginContext, configuration: JavaMap[String, String]): Unit = ConnectionsPlugin.context = Some(context)
  }
}

object ConnectionsPlugin {
  @volatile private var context: Option[PluginContext] = None

  private[guard] def ask(reference: String): Access =
    context.getOrElse(Refuse.because("this executor has no way to its driver")).ask(reference) match {
      case access: Access => access
      case _ => Refuse.because("the driver does not say how the database is entered")
    }
}
