package io.headgate.guard.policy

import java.util.{Collections, IdentityHashMap}

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, ScalaUDF}
import org.apache.spark.sql.catalyst.plans.logical.{CommandResult, LocalRelation, LogicalPlan, SetVariable}
import org.apache.spark.sql.catalyst.trees.TreeNode
import org.apache.spark.sql.execution.{ExternalRDD, LogicalRDD}
import org.apache.spark.sql.types.DataType

/**
 * All plans and expressions that are reachable from a plan, each once: children, inner plans, subqueries, and the values of the
 * fields of nodes, because a command keeps the plans that it will run in its fields.
 *
 * `targets` are the nodes that another node acts on and that no node reads.
 */
final case class PlanTraversal(nodes: Seq[PlanTraversal.Node], targets: Seq[PlanTraversal.Node]) {
  def all: Seq[PlanTraversal.Node] = nodes ++ targets
}

object PlanTraversal {
  type Node = TreeNode[_]

  /** Return all nodes below and including `root`, with the targets. */
  def apply(root: LogicalPlan): Seq[Node] = of(root).all

  /** Return the nodes below and including `root`; the parts in `unless(node)` of a node are not entered. */
  def of(root: LogicalPlan, unless: LogicalPlan => Seq[AnyRef] = _ => Nil): PlanTraversal = {
    val seen = Collections.newSetFromMap(new IdentityHashMap[AnyRef, java.lang.Boolean])
    val nodes, targets = mutable.ArrayBuffer.empty[Node]
    val open = mutable.Stack[AnyRef](root)
    while (open.nonEmpty) {
      val part = open.pop()
      if (!isLeaf(part) && seen.add(part)) part match {
        case plan: LogicalPlan =>
          nodes += plan
          val acted = PlanClasses.targets(plan).filter(Targets.isRelation)
          acted.foreach(targets ++= Targets.chain(_))
          val closed = acted ++ unless(plan)
          open.pushAll(parts(plan).filterNot(part => closed.exists(_ eq part)))
        case expression: Expression =>
          nodes += expression
          open.pushAll(parts(expression))
        case _ => open.pushAll(inside(part))
      }
    }
    PlanTraversal(nodes.toSeq, targets.toSeq)
  }

  private def parts(node: Node): Iterator[AnyRef] = {
    val own = node.children.iterator ++ node.innerChildren.iterator
    (node match {
      // The rows are values; the columns have types and metadata that a client wrote.
      case rows: LocalRelation => own ++ rows.output.iterator
      // Spark itself sets how the rows of a checkpoint are distributed and ordered.
      case rows: LogicalRDD => rows.output.iterator
      // The rows of an RDD that Spark itself made, for example the factors of a model.
      case rows: ExternalRDD[_] => rows.output.iterator
      // The command has run and was decided before; it may itself have deleted what it needed.
      case _: CommandResult => node.children.iterator
      // Spark itself made the function and its encoders; the guard checks whose function it is (see `SparkFunctions`).
      case call: ScalaUDF => call.children.iterator
      // The variables that the statement sets are not read.
      case set: SetVariable => Iterator(set.sourceQuery)
      case _ => own ++ node.productIterator
    }).collect { case Some(part: AnyRef) => part; case part: AnyRef => part }
  }

  private def inside(part: AnyRef): Iterator[AnyRef] = (part match {
    case many: Iterable[_] => many.iterator
    case product: Product => product.productIterator
    case _ => Iterator.empty
  }).collect { case part: AnyRef => part }

  private def isLeaf(part: AnyRef): Boolean = part match {
    case null | _: DataType | _: InternalRow | _: String => true
    case _ => false
  }
}
