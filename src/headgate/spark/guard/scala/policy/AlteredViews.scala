package io.headgate.guard.policy

import scala.jdk.CollectionConverters._

import org.apache.iceberg.spark.Spark3Util
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{NoSuchViewException, RewriteViewCommands, SchemaBinding, UnresolvedIdentifier, UnresolvedView}
import org.apache.spark.sql.catalyst.plans.logical.{AlterViewAs, CreateView, LogicalPlan}
import org.apache.spark.sql.catalyst.plans.logical.views.ResolvedV2View
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.connector.catalog.ViewCatalog

/**
 * Turns ALTER VIEW ... AS for an existing view of the lake into CREATE OR REPLACE VIEW, the only one that Iceberg has. The view
 * stays, so the statement requires the privilege to alter it; a plan that has lost the mark requires those to replace it.
 */
object AlteredViews {
  private val Alters = TreeNodeTag[Boolean]("headgate.alters")

  def replaced(parsed: LogicalPlan): LogicalPlan = parsed match {
    case AlterViewAs(ResolvedV2View(catalog, view), text, query) =>
      val replacement = RewriteViewCommands(SparkSession.active)(CreateView(
        child = UnresolvedIdentifier(catalog.name +: view.namespace.toSeq :+ view.name),
        userSpecifiedColumns = Nil,
        comment = None,
        collation = None,
        properties = Map.empty,
        originalText = Some(text),
        query = query,
        allowExisting = false,
        replace = true,
        viewSchemaMode = SchemaBinding))
      replacement.setTagValue(Alters, true)
      replacement
    case AlterViewAs(UnresolvedView(name, _, _, _), _, _) =>
      requireTemporary(SparkSession.active, name)
      parsed
    case _ => parsed
  }

  /**
   * Throw `NoSuchViewException` unless the name, which is no view of the lake, is a temporary view. Spark would say that the lake
   * has no views at all.
   */
  private def requireTemporary(session: SparkSession, name: Seq[String]): Unit =
    if (!session.sessionState.catalog.isTempView(name)) {
      val found = Spark3Util.catalogAndIdentifier(session, name.asJava)
      if (found.catalog.isInstanceOf[ViewCatalog]) throw new NoSuchViewException(found.identifier)
    }

  /** Whether the statement that replaces a view was ALTER VIEW ... AS. */
  def isAlter(view: LogicalPlan): Boolean = view.getTagValue(Alters).contains(true)
}
