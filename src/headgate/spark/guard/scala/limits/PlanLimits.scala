package io.headgate.guard.limits

import java.util.Locale

import scala.collection.mutable

import io.headgate.guard.memory.PlanMemory
import io.headgate.guard.scheduling.ComputeTurns
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{UnresolvedRegex, UnresolvedRelation}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNode
import org.apache.spark.sql.execution.command.{ResetCommand, SetCommand}
import org.apache.spark.sql.internal.SQLConf

/**
 * How large a statement may be before Spark works on it: what it has to analyze, optimize and plan on the driver, where
 * no task can be taken away from it.
 */
object PlanLimits {
  /** Plan nodes, with views and every use of a common table expression. */
  val MaxNodes = 4000

  /** Expressions in all nodes. */
  val MaxExpressions = 250000

  /** Levels of plan nodes and expressions below each other. */
  val MaxDepth = 1000

  val MaxPartitions = 10000
  private val MaxGroupingSets = 4096d

  /** How often a sample with replacement has one row, on average. */
  private val MaxCopies = 1000

  private val Shuffles = SQLConf.SHUFFLE_PARTITIONS
  private val Repeats = "*+{"
  private val MaxRepeats = 3
  private val Nested = """\)[*+{]|\\[0-9k]""".r

  /** The parsed statement: throws `LimitExceeded` if it is too large. */
  final class Parsed(session: SparkSession) extends Rule[LogicalPlan] {
    override def apply(plan: LogicalPlan): LogicalPlan = {
      step()
      requireShuffles(plan)
      require(plan)
      plan
    }

    /** A statement that changes the setting is held to the value that it gives, so that it can mend one. */
    private def requireShuffles(plan: LogicalPlan): Unit = plan match {
      case SetCommand(Some((Shuffles.key, value))) => value.flatMap(_.trim.toIntOption).foreach(requireFew)
      case _: SetCommand | _: ResetCommand =>
      case _ => requireFew(session.sessionState.conf.getConf(Shuffles))
    }

    private def requireFew(partitions: Int): Unit =
      if (partitions > MaxPartitions) throw new LimitExceeded(s"the setting `${Shuffles.key}` is $partitions; set it to at most $MaxPartitions")
  }

  /** The resolved statement, in which views are known. Spark's own checks write common table expressions out after it. */
  object Resolved extends Rule[LogicalPlan] {
    override def apply(plan: LogicalPlan): LogicalPlan = {
      step()
      require(plan)
      new Expansion().require(plan)
      new WrittenOut().require(plan)
      TypeSizes.require(plan)
      PlanMemory.requireResolved(plan)
      plan
    }
  }

  /** The optimizer, rule by rule. */
  object Optimized extends Rule[LogicalPlan] {
    override def apply(plan: LogicalPlan): LogicalPlan = {
      step()
      PlanMemory.require(plan)
      plan
    }
  }

  /** A step of the work on a statement: ends here if the statement was interrupted, and leaves the processor to others in turn. */
  def step(): Unit = {
    PlanParts.begin()
    Interruption.check()
    PlanMemory.require()
    ComputeTurns.await()
  }

  /** Throws `LimitExceeded` if what a text was parsed to is too large: Spark looks through it before any rule of its analysis does. */
  def requireParsed(parsed: TreeNode[_]): Unit = {
    val open = mutable.Stack[TreeNode[_]](parsed)
    while (open.nonEmpty) open.pop() match {
      case statement: SingleStatement => requireParsed(statement.parsedPlan)
      case part: LogicalPlan with CompoundPlanStatement =>
        part.expressions.foreach(require)
        open.pushAll(part.children)
      case plan: LogicalPlan =>
        require(plan)
        requireSmallOnceWritten(sizeOnceWritten(plan, Map.empty))
      case other => require(other)
    }
  }

  /** Counts nodes as Spark would write them in the place of names; in some commands it does, before any rule sees the plan. */
  private def sizeOnceWritten(plan: LogicalPlan, known: Map[String, Double]): Double = plan match {
    case UnresolvedWith(child, definitions, _) =>
      sizeOnceWritten(child, definitions.foldLeft(known) { case (before, (name, definition, _)) =>
        before + (name.toLowerCase(Locale.ROOT) -> sizeOnceWritten(definition, before))
      })
    case UnresolvedRelation(Seq(name), _, _) => known.getOrElse(name.toLowerCase(Locale.ROOT), 1d)
    case _ =>
      val inner = plan.innerChildren.collect { case part: LogicalPlan => part }
      1 + (plan.children ++ inner ++ plan.expressions.flatMap(subqueries)).map(sizeOnceWritten(_, known)).sum
  }

  private def requireSmallOnceWritten(nodes: Double): Unit =
    if (nodes > MaxNodes) tooComplex(s"has more than $MaxNodes operations once its common table expressions are written out")

  private def require(root: TreeNode[_]): Unit = {
    val open = mutable.Stack[(TreeNode[_], Int)](root -> 1)
    var (nodes, expressions) = (0, 0)
    while (open.nonEmpty) {
      val (part, depth) = open.pop()
      if (depth > MaxDepth) tooComplex(s"is nested more than $MaxDepth levels deep")
      part match {
        case plan: LogicalPlan =>
          nodes += 1
          if (nodes > MaxNodes) tooComplex(s"has more than $MaxNodes operations")
          requireSmall(plan)
          open.pushAll((plan.children ++ plan.innerChildren ++ plan.expressions).map(_ -> (depth + 1)))
        case expression: Expression =>
          expressions += 1
          if (expressions > MaxExpressions) tooComplex(s"has more than $MaxExpressions expressions")
          open.pushAll((expression.children ++ queries(expression)).map(_ -> (depth + 1)))
        case _ =>
      }
    }
  }

  private def queries(expression: Expression): Seq[LogicalPlan] = expression match {
    case subquery: SubqueryExpression => Seq(subquery.plan)
    case _ => Nil
  }

  private def requireSmall(plan: LogicalPlan): Unit = plan match {
    case range: Range => range.numSlices.foreach(requirePartitions)
    case repartition: Repartition => requirePartitions(repartition.numPartitions)
    case repartition: RepartitionByExpression => repartition.optNumPartitions.foreach(requirePartitions)
    case rebalance: RebalancePartitions => rebalance.optNumPartitions.foreach(requirePartitions)
    case pivot: Pivot if pivot.pivotValues.size.toLong * pivot.aggregates.size > MaxExpressions =>
      tooComplex(s"has more than $MaxExpressions aggregates in its PIVOT")
    case aggregate: Aggregate => require(GroupingSize.of(aggregate.groupingExpressions))
    case sample: Sample if sample.withReplacement && sample.upperBound - sample.lowerBound > MaxCopies =>
      throw new LimitExceeded(s"the sample takes each row more than $MaxCopies times; give a smaller fraction")
    case project: Project => project.projectList.foreach { case regex: UnresolvedRegex => requireSimple(regex.regexPattern); case _ => }
    case command if command.getClass.getSimpleName.startsWith("Show") => command.productIterator.foreach {
      case Some(pattern: String) => requireSimple(pattern)
      case pattern: String => requireSimple(pattern)
      case _ =>
    }
    case _ =>
  }

  /** Spark matches names with the pattern while it analyzes, where nothing interrupts it. */
  private def requireSimple(pattern: String): Unit =
    if (pattern.count(Repeats.contains(_)) > MaxRepeats || Nested.findFirstIn(pattern).isDefined)
      throw new LimitExceeded(
        s"the pattern `$pattern` repeats groups, refers to them, or has more than $MaxRepeats repetitions; use a simpler one")

  private def requirePartitions(number: Int): Unit =
    if (number > MaxPartitions) throw new LimitExceeded(s"$number partitions are too many; use at most $MaxPartitions")

  /** Throws `LimitExceeded` if GROUP BY has too many grouping sets, or too many expressions in all of them. */
  def require(grouping: GroupingSize): Unit = {
    if (grouping.sets > MaxGroupingSets)
      throw new LimitExceeded(s"the statement has more than ${MaxGroupingSets.toInt} grouping sets; group by fewer columns")
    if (grouping.expressions > MaxExpressions) tooComplex(s"has more than $MaxExpressions expressions in its grouping sets")
  }

  /** Refuses a statement for what it has too much of. */
  def tooComplex(what: String): Nothing =
    throw new LimitExceeded(s"the statement $what; split it, or write a part of it to a table first", LimitExceeded.TooComplex)

  /** Counts a plan's nodes as Spark will see them: it may write a common table expression out wherever it is used. */
  private final class Expansion {
    private val sizes = mutable.Map.empty[Long, Double]

    def require(plan: LogicalPlan): Unit = requireSmallOnceWritten(size(plan))

    private def size(plan: LogicalPlan): Double = {
      plan match {
        case WithCTE(_, definitions) => definitions.foreach(each => sizes(each.id) = size(each.child))
        case _ =>
      }
      val own = plan match {
        case use: CTERelationRef => sizes.getOrElse(use.cteId, 0d)
        case WithCTE(body, _) => return size(body)
        case _ => 1d
      }
      own + plan.children.map(size).sum + plan.expressions.flatMap(subqueries).map(size).sum
    }
  }

  private def subqueries(expression: Expression): Seq[LogicalPlan] =
    expression.collect { case subquery: SubqueryExpression => subquery.plan }

  /**
   * Counts the expressions of conditions as the optimizer will see them: it moves a condition below the projections under
   * it, and writes out the columns that they compute wherever the condition uses them. Elsewhere it writes out no column
   * that is used more than once.
   */
  private final class WrittenOut {
    private val sizes = mutable.Map.empty[ExprId, Double]
    private val definitions = mutable.Map.empty[Long, Seq[Double]]

    def require(plan: LogicalPlan): Unit = plan match {
      case WithCTE(body, all) =>
        all.foreach { each =>
          require(each.child)
          if (each.child.resolved) definitions(each.id) = each.child.output.map(size)
        }
        require(body)
      case _ =>
        (plan.children ++ plan.expressions.flatMap(subqueries)).foreach(require)
        if (plan.resolved) define(plan)
        if (conditions(plan).map(size).sum > MaxExpressions)
          tooComplex(s"has a condition of more than $MaxExpressions expressions once the columns in it are written out")
    }

    private def define(plan: LogicalPlan): Unit = plan match {
      case union: Union =>
        union.output.zipWithIndex.foreach { case (column, at) => sizes(column.exprId) = union.children.map(each => size(each.output(at))).max }
      case use: CTERelationRef => definitions.get(use.cteId).foreach(use.output.map(_.exprId).zip(_).foreach(sizes += _))
      case project: Project => project.projectList.foreach(define)
      case aggregate: Aggregate => aggregate.aggregateExpressions.foreach(define)
      case _ =>
    }

    private def define(column: NamedExpression): Unit = column match {
      case alias: Alias if !alias.child.exists(_.isInstanceOf[AggregateExpression]) => sizes(alias.exprId) = size(alias.child)
      case _ =>
    }

    private def conditions(plan: LogicalPlan): Seq[Expression] = plan match {
      case filter: Filter => Seq(filter.condition)
      case join: Join => join.condition.toSeq
      case _ => Nil
    }

    private def size(expression: Expression): Double = expression match {
      case column: Attribute if column.resolved => sizes.getOrElse(column.exprId, 1d)
      case OuterReference(column) => size(column)
      case other => 1 + other.children.map(size).sum
    }
  }
}
