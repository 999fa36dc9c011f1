package io.headgate.guard.catalog

import java.util.{Map => JavaMap, Set => JavaSet}

import io.headgate.guard.client.StatementContext
import io.headgate.guard.policy.{ObjectNames, RequiredPrivilege, Target}
import org.apache.iceberg.spark.{Spark3Util, SparkCatalog}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.{Identifier, Table, TableWritePrivilege, View}
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure

/**
 * The lake as Spark sees it. Some calls reach a catalog before there is a plan that the rules could see
 * (`saveAsTable`, `insertInto`, `spark.catalog`), so what may not be known is not looked up here either.
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

  /** `saveAsTable` comes here before there is a plan; what it may come to make does not hang on what there is. */
  override def loadTable(identifier: Identifier, privileges: JavaSet[TableWritePrivilege]): Table = {
    if (isSaveAsTable) {
      val made = Target.Relation(ObjectNames.of(this, identifier))
      StatementContext.require(session, RequiredPrivilege.of("create", made).toSet, "saveAsTable")
    }
    super.loadTable(identifier, privileges)
  }

  /** A view's text is a query, whoever wrote it and in whichever way it came into the catalog. */
  override def loadView(identifier: Identifier): View = {
    StatementContext.requireReadable(session, ObjectNames.of(this, identifier))
    ViewNesting.count(identifier.toString)
    val view = super.loadView(identifier)
    new StoredViewCheck(session).check(view.query)
    view
  }

  /** A new name may begin with the catalog, as the old one does. */
  override def renameTable(from: Identifier, to: Identifier): Unit =
    super.renameTable(from, to.namespace match {
      case Array(head, rest @ _*) if head == name && rest.nonEmpty => Identifier.of(rest.toArray, to.name)
      case _ => to
    })

  override def loadProcedure(identifier: Identifier): UnboundProcedure =
    new GuardedProcedure(super.loadProcedure(identifier), this)

  /** The lake removes the files itself; Iceberg's way would query the metadata of a table that is gone by then. */
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
