package io.headgate.guard.policy

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.AnalysisContext
import org.apache.spark.sql.connector.catalog.{CatalogPlugin, Identifier}

/**
 * Names as Spark will resolve them: full names that begin with the catalog, with the session's current catalog and namespace
 * filled in.
 */
final class ObjectNames(session: SparkSession) {
  import ObjectNames._

  /** Return the full name of a table or view; `None` for a temporary view of the session. */
  def table(parts: Seq[String]): Option[Seq[String]] = if (isTemporaryView(parts)) None else Some(full(parts))

  /** Return the full name of a table or view, even if a temporary view hides it. */
  def full(parts: Seq[String]): Seq[String] = dataTable(qualified(parts))

  def namespace(parts: Seq[String]): Seq[String] = parts match {
    case Seq() => governed(current)
    case _ if session.sessionState.catalog.isGlobalTempViewDB(parts.last) => refuseShared()
    case catalog +: _ if isCatalog(catalog) => governed(parts)
    case _ => inCatalog(parts)
  }

  /** Return the full name of a namespace that Spark looks up in the current catalog only. */
  def inCatalog(parts: Seq[String]): Seq[String] = governed(current.head +: parts)

  /** Return the new full name of a table or view: a table's new name is relative to its catalog, a view's to the session. */
  def renamed(from: Seq[String], to: Seq[String], isView: Boolean): Seq[String] = to match {
    case _ if isView => full(to)
    case Seq(name) => governed(from.init :+ name)
    case catalog +: _ if catalog == from.head => governed(to)
    case _ => governed(from.head +: to)
  }

  private def isTemporaryView(parts: Seq[String]): Boolean = {
    val catalog = session.sessionState.catalog
    if (catalog.isGlobalTempViewDB(parts.head)) refuseShared()
    catalog.isTempView(parts)
  }

  private def refuseShared(): Nothing =
    Refusal.because("global temporary views are refused, because all sessions share them; use a temporary view")

  private def qualified(parts: Seq[String]): Seq[String] = parts match {
    case Seq(name) => current :+ name
    case catalog +: _ if isCatalog(catalog) => parts
    case _ => current.head +: parts
  }

  private def isCatalog(name: String): Boolean = session.sessionState.catalogManager.isCatalogRegistered(name)

  /** Return the current catalog and namespace. Inside a view, Spark uses those that were current when the view was created. */
  private def current: Seq[String] = AnalysisContext.get.catalogAndNamespace match {
    case Seq() =>
      val manager = session.sessionState.catalogManager
      manager.currentCatalog.name +: manager.currentNamespace.toSeq
    case ofView => ofView
  }
}

object ObjectNames {
  val Lake = "lake"
  private val Word = "[\\p{L}\\p{Mn}\\p{Mc}\\p{N}_-]+".r
  private val Selector =
    ("(?i)(entries|files|data_files|delete_files|history|metadata_log_entries|snapshots|refs|manifests|partitions|" +
      "position_deletes|all_data_files|all_delete_files|all_files|all_manifests|all_entries|changes|" +
      "branch_.+|tag_.+|snapshot_id_\\d+|at_timestamp_\\d+)").r
  private val TableDepth = 3

  /** Return the full name of the table whose data an identifier refers to. */
  def of(catalog: CatalogPlugin, identifier: Identifier): Seq[String] =
    dataTable(catalog.name +: identifier.namespace.toSeq :+ identifier.name)

  /** Return the table whose data a full name refers to: metadata tables, branches, tags and snapshots belong to their table. */
  private def dataTable(name: Seq[String]): Seq[String] =
    if (name.size > TableDepth && Selector.matches(name.last)) dataTable(name.init) else governed(name)

  /** Return the name itself. Refuse a name that is outside of the governed lake or that could be a path. */
  def governed(name: Seq[String]): Seq[String] = {
    if (name.head != Lake) Refusal.because(s"the catalog `${name.head}` is refused, because Headgate does not govern it; use the catalog `$Lake`")
    name.find(part => !Word.matches(part)).foreach { part =>
      Refusal.because(s"the name `$part` is not allowed: it is empty, or has characters other than letters, digits, `_` and `-`; use another name")
    }
    name
  }
}
