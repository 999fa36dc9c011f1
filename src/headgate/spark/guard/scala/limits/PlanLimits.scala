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
 * Limits of the size of a statement, checked before Spark works on it. Spark analyzes, optimizes and plans it on the driver,
 * where no scheduler can stop the work as it can stop a task.
 */
object PlanLimits {
  /** Most plan nodes, with views and every use of a common table expression. */
  val MaxNodes = 4000

  /** Most expressions in all nodes. */
  val MaxExpressions = 250000

  /** Most levels of plan nodes and expressions below each other. */
  val MaxDepth = 1000

  val MaxPartitions = 10000
  private val MaxGroupingSets = 4096d

  /** Most times that a sample with replacement has one row, on average. */
  private val MaxCopies = 1000

  private val Shuffles = SQLConf.SHUFFLE_PARTITIONS
  private val Repeats = "*+{"
  private val MaxRepeats = 3
  private val Nested = """\)[*+{]|\\[0-9k]""".r

  /** The rule for the parsed statement: it throws `LimitExceeded` if the statement is too large. */
  final class Parsed(session: SparkSession) extends Rule[LogicalPlan] {
    override def apply(plan: LogicalPlan): LogicalPlan = {
      step()
      requireShuffles(plan)
      require(plan)
      plan
    }

    /**
     * Check the number of shuffle partitions. A statement that changes the setting is checked by its new value, so that it can
     * correct a value that is too large.
     */
    private def requireShuffles(plan: LogicalPlan): Unit = plan match {
      case SetCommand(Some((Shuffles.key, value))) => value.flatMap(_.trim.toIntOption).foreach(requireFew)
      case _: SetCommand | _: ResetCommand =>
      case _ =>
        val settings = session.sessionState.conf
        requireFew(math.max(settings.getConf(Shuffles), settings.numShufflePartitions)) // the latter has other keys besides
    }

    private def requireFew(partitions: Int): Unit =
      if (partitions > MaxPartitions) throw new LimitExceeded(s"the setting `${Shuffles.key}` is $partitions; set it to at most $MaxPartitions")
  }

  /**
   * The rule for the resolved statement, in which views are known. Spark's own checks expand common table expressions after it.
   */
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

  /** The rule for the plan while the optimizer works on it. */
  object Optimized extends Rule[LogicalPlan] {
    override def apply(plan: LogicalPlan): LogicalPlan = {
      step()
      PlanMemory.require(plan)
      plan
    }
  }

  /**
   * Begin a step of the work on a statement. Throw if the statement was interrupted or has no memory, and wait for this
   * thread's turn.
   */
  def step(): Unit = {
    PlanParts.begin()
    Interruption.check()
    PlanMemory.require()
    ComputeTurns.await()
  }

  /**
   * Throw `LimitExceeded` if the parsed form of a text is too large: Spark traverses it before any rule of its analysis runs.
   */
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

  /**
   * Return the number of nodes once names of common table expressions are replaced by their queries; in some commands Spark
   * replaces them before any rule sees the plan.
   */
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
    if (nodes > MaxNodes) tooComplex(s"the statement has more than $MaxNodes operations once each use of a common table expression is replaced by its query; use the expressions less often, or write their rows to tables first")

  private def require(root: TreeNode[_]): Unit = {
    val open = mutable.Stack[(TreeNode[_], Int)](root -> 1)
    var (nodes, expressions) = (0, 0)
    while (open.nonEmpty) {
      val (part, depth) = open.pop()
      if (depth > MaxDepth) tooComplex(s"the statement is nested more than $MaxDepth levels deep; split it, or write a part of it to a table first")
      part match {
        case plan: LogicalPlan =>
          nodes += 1
          if (nodes > MaxNodes) tooComplex(s"the statement has more than $MaxNodes operations; split it, or write a part of it to a table first")
          requireSmall(plan)
          open.pushAll((plan.children ++ plan.innerChildren ++ plan.expressions).map(_ -> (depth + 1)))
        case expression: Expression =>
          expressions += 1
          if (expressions > MaxExpressions) tooComplex(s"the statement has more than $MaxExpressions expressions; split it, or write a part of it to a table first")
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
      tooComplex(s"the statement has more than $MaxExpressions aggregates in its PIVOT; name fewer values or aggregates")
    case aggregate: Aggregate => require(GroupingSize.of(aggregate.groupingExpressions))
    case sample: Sample if sample.withReplacement && sample.upperBound - sample.lowerBound > MaxCopies =>
      throw new LimitExceeded(s"the sample takes each row more than $MaxCopies times on average; use a smaller fraction")
    case project: Project => project.projectList.foreach { case regex: UnresolvedRegex => requireSimple(regex.regexPattern); case _ => }
    case command if command.getClass.getSimpleName.startsWith("Show") => command.productIterator.foreach {
      case Some(pattern: String) => requireSimple(pattern)
      case pattern: String => requireSimple(pattern)
      case _ =>
    }
    case _ =>
  }

  /** Refuse a pattern that may take long: Spark matches names with it during analysis, where nothing interrupts it. */
  private def requireSimple(pattern: String): Unit =
    if (pattern.count(Repeats.contains(_)) > MaxRepeats || Nested.findFirstIn(pattern).isDefined)
      throw new LimitExceeded(
        s"the pattern `$pattern` repeats a group, refers to one, or has more than $MaxRepeats repetitions (`*`, `+` or `{`); use a simpler pattern")

  private def requirePartitions(number: Int): Unit =
    if (number > MaxPartitions) throw new LimitExceeded(s"the statement asks for $number partitions; use at most $MaxPartitions")

  /** Throw `LimitExceeded` if GROUP BY has too many grouping sets, or too many expressions in all of them. */
  def require(grouping: GroupingSize): Unit = {
    if (grouping.sets > MaxGroupingSets)
      throw new LimitExceeded(s"the statement has more than ${MaxGroupingSets.toInt} grouping sets; group by fewer columns")
    if (grouping.expressions > MaxExpressions) tooComplex(s"the statement has more than $MaxExpressions expressions in its grouping sets; group by fewer columns")
  }

  /** Throw `LimitExceeded` with the SQLSTATE of a statement that has too many parts. */
  def tooComplex(message: String): Nothing = throw new LimitExceeded(message, LimitExceeded.TooComplex)

  /**
   * Counts the nodes of a plan once Spark has expanded it: Spark may copy a common table expression to every place where it is
   * used.
   */
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
   * Counts the expressions of conditions once the optimizer has expanded them. It moves a condition below the projections under
   * it, and replaces the columns in the condition by the expressions that compute them, wherever they are used. Elsewhere it
   * replaces no column that is used more than once.
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
          tooComplex(s"the statement has a condition of more than $MaxExpressions expressions once its columns are replaced by the expressions that compute them; write the rows to a table first, and filter or join that table")
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
