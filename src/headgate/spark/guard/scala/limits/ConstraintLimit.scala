package io.headgate.guard.limits

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.UnaryNode

/**
 * Limits of the conditions from which Spark infers constraints. Constraints make a statement faster and change no result, so
 * beyond the limits the statement runs without them.
 */
object ConstraintLimit {
  private val Most = 2000d

  /**
   * Return the columns of a node if there are few ways to write the constraints below it with their names, and none otherwise.
   */
  def named(node: UnaryNode, columns: Seq[NamedExpression]): Seq[NamedExpression] = {
    val names = columns.collect { case Alias(named, _) if named.deterministic && !named.isInstanceOf[Literal] => named.canonicalized }
      .groupMapReduce(identity)(_ => 1d)(_ + _)
    val equalities = names.values.map(each => each * each).sum
    if (equalities <= Most && (names.isEmpty || equalities + node.child.constraints.toSeq.map(choices(_, names)).sum <= Most)) columns
    else Nil
  }

  /**
   * Return the conditions if few of them equate columns, and none otherwise: Spark rewrites each condition for each equality.
   */
  def equated(conditions: ExpressionSet): ExpressionSet = {
    val equalities = conditions.count { case _: EqualTo | _: EqualNullSafe => true; case _ => false }
    if (equalities.toDouble * conditions.size <= Most) conditions else ExpressionSet()
  }

  /** Return the number of ways in which a condition can be written with these names. */
  private def choices(condition: Expression, names: Map[Expression, Double]): Double =
    condition.collect { case part if names.contains(part.canonicalized) => part.canonicalized }.distinct.map(1 + names(_)).product
}
