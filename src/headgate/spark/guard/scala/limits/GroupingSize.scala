package io.headgate.guard.limits

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.expressions.{Cube, Expression, GroupingSets, Rollup}
import org.apache.spark.sql.catalyst.parser.SqlBaseParser.{GroupingAnalyticsContext, GroupingElementContext, GroupingSetContext}

/** The size of GROUP BY once Spark has expanded it: the sets that it groups by, and the expressions in all of them. */
final case class GroupingSize(sets: Double, expressions: Double) {
  def or(other: GroupingSize): GroupingSize = GroupingSize(sets + other.sets, expressions + other.expressions)

  /** Return the size of each set combined with each set of another. */
  def and(other: GroupingSize): GroupingSize =
    GroupingSize(sets * other.sets, expressions * other.sets + other.expressions * sets)
}

object GroupingSize {
  /** Return the size of the expressions of GROUP BY. */
  def of(grouping: Seq[Expression]): GroupingSize = grouping.map(of).foldLeft(set(0))(_ and _)

  /** Return the size of CUBE, ROLLUP or GROUPING SETS from its text: Spark expands nested ones while it parses. */
  def of(written: GroupingAnalyticsContext): GroupingSize = {
    val parts = written.groupingSet.asScala.map(columns).toSeq
    if (written.CUBE != null) cube(parts)
    else if (written.ROLLUP != null) rollup(parts)
    else written.groupingElement.asScala.map(of).foldLeft(GroupingSize(0, 0))(_ or _)
  }

  private def of(element: GroupingElementContext): GroupingSize =
    if (element.groupingAnalytics != null) of(element.groupingAnalytics) else set(columns(element.groupingSet))

  private def of(expression: Expression): GroupingSize = expression match {
    case all: Cube => cube(all.groupingSetIndexes.map(_.size))
    case all: Rollup => rollup(all.groupingSetIndexes.map(_.size))
    case all: GroupingSets => all.groupingSetIndexes.map(part => set(part.size)).foldLeft(GroupingSize(0, 0))(_ or _)
    case _ => set(1)
  }

  private def columns(written: GroupingSetContext): Int = written.expression.size

  private def set(columns: Int): GroupingSize = GroupingSize(1, columns)

  private def cube(parts: Seq[Int]): GroupingSize = parts.map(part => set(0) or set(part)).foldLeft(set(0))(_ and _)

  private def rollup(parts: Seq[Int]): GroupingSize = parts.scanLeft(0)(_ + _).map(set(_)).reduce(_ or _)
}
