package io.headgate.guard.connections

import java.util.Locale

import io.headgate.guard.client.StatementContext
import io.headgate.guard.policy.{AllowLists, OptionList, Refusal, RequiredConnection, RequiredPrivilege}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnresolvedDataSource}
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.datasources.{LogicalRelation, SaveIntoDataSourceCommand}
import org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions

/**
 * Databases that are reached through a connection. A statement names the connection; the guard adds the reference to its plan
 * by which this driver knows the connection. URL and password are requested only when the connection is opened.
 */
final class Connections(session: SparkSession) {
  import Connections._

  def needs(source: UnresolvedDataSource): Seq[RequiredPrivilege] = Seq(RequiredConnection(named(source.options)))

  def needs(save: SaveIntoDataSourceCommand): Seq[RequiredPrivilege] = Seq(RequiredConnection(named(save.options)))

  /** Return the privileges that a relation requires, if its rows are those of a database. */
  def needs(relation: LogicalRelation): Option[Seq[RequiredPrivilege]] = relation.relation match {
    case jdbc: Product if jdbc.getClass.getName == Relation =>
      jdbc.productIterator.collectFirst { case options: JDBCOptions => options.parameters }.map { parameters =>
        if (!isPlaced(lowered(parameters))) Refusal.because("the rows of the external database are refused, because the session did not read them through a connection that Headgate knows; read them again with the option `connection`")
        Seq(RequiredConnection(named(parameters)))
      }
    case _ => None
  }

  /** Refuse options of a database that no caller may use, whatever their privileges. */
  def check(source: UnresolvedDataSource): Unit = {
    if (source.isStreaming) Refusal.because("a streaming query cannot read an external database; read a table of the database with `spark.read`")
    if (source.paths.nonEmpty) Refusal.because("the read of an external database names a path; name the table in the option `dbtable` instead")
    if (source.userSpecifiedSchema.nonEmpty)
      Refusal.because("the read of an external database declares a schema; leave the schema out, the columns are those of the table")
    check(source.options, AllowLists.databaseOptions)
  }

  def check(save: SaveIntoDataSourceCommand): Unit = {
    if (save.dataSource.getClass.getName != Provider) Refusal.node(save)
    check(save.options, AllowLists.databaseWriteOptions)
  }

  /** Return the plan with the reference to the connection, and the settings that go with it. */
  def placed(plan: LogicalPlan): LogicalPlan = plan match {
    case save: SaveIntoDataSourceCommand => save.copy(options = save.options ++ places(named(save.options)))
    case other => other.resolveOperators {
      case source: UnresolvedDataSource if isDatabase(source) =>
        source.copy(options = CaseInsensitiveMap(source.options ++ places(named(source.options))))
    }
  }

  private def check(options: Map[String, String], list: OptionList): Unit = {
    val given = lowered(options)
    val written = if (isPlaced(given)) given -- places(named(options)).keys else given
    list.check("external databases", written)
    if (!written.get(Table).exists(Name.matches)) Refusal.because("the option `dbtable` of the external database is missing or does not name one table; write it as `schema.table`")
  }

  private def isPlaced(options: Map[String, String]): Boolean =
    places(named(options)).forall { case (key, value) => options.get(key).contains(value) }

  private def places(connection: String): Map[String, String] =
    Settings + (ConnectionReferences.Option -> ConnectionReferences.of(StatementContext.handle(session), connection))
}

object Connections {
  private val Format = "jdbc"
  private val Connection = "connection"
  private val Table = "dbtable"
  private val Relation = "org.apache.spark.sql.execution.datasources.jdbc.JDBCRelation"
  private val Provider = "org.apache.spark.sql.execution.datasources.jdbc.JdbcRelationProvider"
  private val Name = "(?:[A-Za-z_]\\w*|\"(?:[^\"]|\"\")+\")(?:\\.(?:[A-Za-z_]\\w*|\"(?:[^\"]|\"\")+\"))?".r

  /** Settings of every database. The URL gives Spark the SQL dialect, and leads to no host. */
  private val Settings = Map(
    "url" -> "jdbc:postgresql://connection.invalid/",
    "driver" -> "org.postgresql.Driver",
    "connectionprovider" -> ConnectionProvider.Name)

  def isDatabase(source: UnresolvedDataSource): Boolean = source.format == Format

  private def named(options: Map[String, String]): String =
    lowered(options).get(Connection).filter(_.nonEmpty).getOrElse(Refusal.because("the option `connection` of the external database is missing or empty; name a connection that the pipeline declares"))

  private def lowered(options: Map[String, String]): Map[String, String] =
    options.map { case (key, value) => key.toLowerCase(Locale.ROOT) -> value }
}
