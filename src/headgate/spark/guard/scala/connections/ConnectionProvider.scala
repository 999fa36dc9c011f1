package io.headgate.guard.connections

import java.sql.{Connection, Driver, SQLException}
import java.util.Properties

import io.headgate.guard.client.DecisionClient
import io.headgate.guard.policy.Refusal
import org.apache.spark.SparkEnv
import org.apache.spark.sql.jdbc.JdbcConnectionProvider

/** How a database is entered. It stands in no plan and in no text. */
final case class JdbcAccess(connection: String, url: String, properties: Map[String, String]) {
  override def toString: String = s"access to $connection"
}

/**
 * Opens the connections of Spark's JDBC source. Each time it is decided anew whether the session that a reference is of
 * may, and what it takes is forgotten again.
 */
final class ConnectionProvider extends JdbcConnectionProvider {
  override val name: String = ConnectionProvider.Name

  override def canHandle(driver: Driver, options: Map[String, String]): Boolean = reference(options).nonEmpty

  override def getConnection(driver: Driver, options: Map[String, String]): Connection = {
    val access = ConnectionProvider.access(reference(options).getOrElse(Refusal.because("no connection is named")))
    val properties = new Properties
    access.properties.foreach { case (key, value) => properties.setProperty(key, value) }
    try driver.connect(access.url, properties)
    catch { case error: SQLException => throw ConnectionProvider.unusable(access.connection, error) }
  }

  override def modifiesSecurityContext(driver: Driver, options: Map[String, String]): Boolean = false

  private def reference(options: Map[String, String]): Option[String] =
    options.collectFirst { case (key, value) if key.equalsIgnoreCase(ConnectionReferences.Option) => value }
}

object ConnectionProvider {
  val Name = "headgate"
  private val Driver = "driver"

  /** What a reference stands for. Executors in other processes know none, and ask the driver. */
  private def access(reference: String): JdbcAccess =
    if (SparkEnv.get.executorId == Driver) known(reference) else ConnectionsPlugin.ask(reference)

  /** The same in the driver; throws `AccessDenied` unless it may be used now. */
  private[guard] def known(reference: String): JdbcAccess = {
    val meant = ConnectionReferences.meant(reference)
    DecisionClient.access(meant.handle, meant.connection)
  }

  /** The driver's own words would tell hosts and users. */
  private def unusable(connection: String, error: SQLException): SQLException = {
    val state = String.valueOf(error.getSQLState)
    val why = state.take(2) match {
      case "28" => "it does not take the user and password that it was declared with"
      case "3D" => "there is no such database any more"
      case "53" | "57" => "it takes no more connections at the moment"
      case _ => "it cannot be reached"
    }
    new SQLException(s"the database of the connection `$connection` cannot be used: $why", state)
  }
}
