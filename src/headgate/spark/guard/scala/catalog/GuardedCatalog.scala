package io.headgate.guard.catalog

import java.util.{Map => JavaMap, Set => JavaSet}

import io.headgate.guard.client.StatementContext
import io.headgate.guard.policy.{ObjectNames, RequiredPrivilege, Target}
import org.apache.iceberg.spark.{Spark3Util, SparkCatalog}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.{Identifier, Table, TableWritePrivilege, View}
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure

/**
 * The lake as a Spark catalog. Some calls (`saveAsTable`, `insertInto`, `spark.catalog`) reach it before there is a plan that
 * the rules could check. So the catalog itself looks up no name that the principal may not know of.
 */
class GuardedCatalog extends SparkCatalog {
  override def loadTable(identifier: Identifier): Table = {
    requireKnown(identifier)
    super.loadTable(identifier)
  }

  override def loadTable(identifier: Identifier, version: String): Table = {
    requireKnown(identifier)
    super.loadTable(identifier, version)
  }

  override def loadTable(identifier: Identifier, timestamp: Long): Table = {
    requireKnown(identifier)
    super.loadTable(identifier, timestamp)
  }

  /**
   * Load a table that is to be written. `saveAsTable` calls this before there is a plan; whether it requires the privilege to
   * create the table does not depend on whether the table exists.
   */
  override def loadTable(identifier: Identifier, privileges: JavaSet[TableWritePrivilege]): Table = {
    if (isSaveAsTable) {
      val made = Target.Relation(ObjectNames.of(this, identifier))
      StatementContext.require(session, RequiredPrivilege.of("create", made).toSet, "saveAsTable")
    }
    super.loadTable(identifier, privileges)
  }

  /** Load a view. Its text must be a query, whatever engine stored it and in whatever way. */
  override def loadView(identifier: Identifier): View = {
    StatementContext.requireReadable(session, ObjectNames.of(this, identifier))
    ViewNesting.count(identifier.toString)
    val view = super.loadView(identifier)
    new StoredViewCheck(session).check(view.query)
    view
  }

  /** Rename a table. The new name may begin with the catalog, as the old one does. */
  override def renameTable(from: Identifier, to: Identifier): Unit =
    super.renameTable(from, to.namespace match {
      case Array(head, rest @ _*) if head == name && rest.nonEmpty => Identifier.of(rest.toArray, to.name)
      case _ => to
    })

  override def loadProcedure(identifier: Identifier): UnboundProcedure =
    new GuardedProcedure(super.loadProcedure(identifier), this)

  /**
   * Drop a table with its files, which the lake deletes. Iceberg's implementation would query the metadata of a table that is
   * dropped by then.
   */
  override def purgeTable(identifier: Identifier): Boolean =
    icebergCatalog.dropTable(Spark3Util.identifierToTableIdentifier(identifier), true)

  override def namespaceExists(namespace: Array[String]): Boolean = {
    StatementContext.requireKnown(session, full(namespace))
    super.namespaceExists(namespace)
  }

  override def loadNamespaceMetadata(namespace: Array[String]): JavaMap[String, String] = {
    StatementContext.requireKnown(session, full(namespace))
    super.loadNamespaceMetadata(namespace)
  }

  private def session: SparkSession = SparkSession.active

  private def isSaveAsTable: Boolean =
    StackWalker.getInstance.walk(frames => frames.anyMatch(_.getMethodName == "saveAsTableCommand"))

  private def requireKnown(identifier: Identifier): Unit =
    StatementContext.requireKnown(session, ObjectNames.of(this, identifier))

  private def full(namespace: Array[String]): Seq[String] = ObjectNames.governed(name +: namespace.toSeq)
}
