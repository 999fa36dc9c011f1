package io.headgate.guard.catalog

import java.lang.ref.WeakReference

import io.headgate.guard.limits.LimitExceeded
import org.apache.spark.sql.catalyst.analysis.AnalysisContext

/** Counts the views that one statement opens: views that read each other would be opened without end. */
object ViewNesting {
  /** Most views in one statement; a view counts each time it is read. */
  val Most = 500

  /** Most times that one statement may read the same view: views that read each other come back to it. */
  val MostOfOne = 100

  private final class Opened(val statement: WeakReference[AnyRef]) {
    var all = 0
    val each = scala.collection.mutable.Map.empty[String, Int]
  }

  private val opened = new ThreadLocal[Opened]

  /** Count a view that is opened. Throw `LimitExceeded` if the statement has opened too many. */
  def count(view: String): Unit = {
    val statement = AnalysisContext.get.relationCache
    if (opened.get == null || (opened.get.statement.get ne statement)) opened.set(new Opened(new WeakReference(statement)))
    val now = opened.get
    now.all += 1
    now.each(view) = now.each.getOrElse(view, 0) + 1
    if (now.all > Most || now.each(view) > MostOfOne)
      throw new LimitExceeded(
        s"the statement reads more than $Most views, or one view more than $MostOfOne times; check whether the views read each other in a circle; if not, write a part of the query to a table first",
        LimitExceeded.TooComplex)
  }
}
