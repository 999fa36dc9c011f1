package io.headgate.guard

import java.util.{Map => JavaMap}

import org.apache.iceberg.spark.{Spark3Util, SparkCatalog}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.{Identifier, Table}
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

  override def loadProcedure(identifier: Identifier): UnboundProcedure =
    new GuardedProcedure(super.loadProcedure(identifier), this)

  /** The lake removes the files itself; Iceberg's way would query the metadata of a table that is gone by then. */
  override def purgeTable(identifier: Identifier): Boolean =
    icebergCatalog.dropTable(Spark3Util.identifierToTableIdentifier(identifier), true)

  override def namespaceExists(namespace: Array[String]): Boolean = {
    Statement.requireKnown(SparkSession.active, full(namespace))
    super.namespaceExists(namespace)
  }

  override def loadNamespaceMetadata(namespace: Array[String]): JavaMap[String, String] = {
    Statement.requireKnown(SparkSession.active, full(namespace))
    super.loadNamespaceMetadata(namespace)
  }

  private def requireKnown(identifier: Identifier): Unit =
    Statement.requireKnown(SparkSession.active, AnalyzedNeeds.name(this, identifier))

  private def full(namespace: Array[String]): Seq[String] = Names.governed(name +: namespace.toSeq)
}
