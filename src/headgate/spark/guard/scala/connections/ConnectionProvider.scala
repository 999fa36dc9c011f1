package io.headgate.guard.connections

import java.sql.{Connection, Driver, SQLException}
import java.util.Properties

import io.headgate.guard.client.DecisionClient
import io.headgate.guard.policy.Refusal
import org.apache.spark.SparkEnv
import org.apache.spark.sql.jdbc.JdbcConnectionProvider

/** The URL and the properties, with the password, of a database. They are in no plan and in no text. */
final case class JdbcAccess(connection: String, url: String, properties: Map[String, String]) {
  override def toString: String = s"JdbcAccess($connection)"
}

/**
 * Opens the connections of Spark's JDBC source. For each connection it requests a decision again, whether the session of the
 * reference may use it, and keeps no password.
 */
final class ConnectionProvider extends JdbcConnectionProvider {
  override val name: String = ConnectionProvider.Name

  override def canHandle(driver: Driver, options: Map[String, String]): Boolean = reference(options).nonEmpty

  override def getConnection(driver: Driver, options: Map[String, String]): Connection = {
    val access = ConnectionProvider.access(reference(options).getOrElse(Refusal.because("the read or write of an external database names no connection; name one with the option `connection`")))
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

  /** Return the access that a reference refers to. Executors in other processes know no references, and ask the driver. */
  private def access(reference: String): JdbcAccess =
    if (SparkEnv.get.executorId == Driver) known(reference) else ConnectionsPlugin.ask(reference)

  /** Return the same in the driver. Throw `AccessDenied` unless the connection may be used now. */
  private[guard] def known(reference: String): JdbcAccess = {
    val meant = ConnectionReferences.meant(reference)
    DecisionClient.access(meant.handle, meant.connection)
  }

  /** Return an error without the message of the database's driver, which would reveal hosts and users. */
  private def unusable(connection: String, error: SQLException): SQLException = {
    val state = String.valueOf(error.getSQLState)
    val message = state.take(2) match {
      case "28" => s"the database of the connection `$connection` does not accept the user and password of the connection; correct them in the connection"
      case "3D" => s"the database of the connection `$connection` does not exist on its server; correct the name of the database in the connection"
      case "53" | "57" => s"the database of the connection `$connection` accepts no more connections at the moment; retry later"
      case _ => s"the database of the connection `$connection` cannot be reached; check the connection, and whether the database is running"
    }
    new SQLException(message, state)
  }
}
