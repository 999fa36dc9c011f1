package io.headgate.guard.expressions

import org.apache.spark.sql.catalyst.expressions.{Expression, UnaryExpression}
import org.apache.spark.sql.types.DataType

/** An expression of the guard, which no list of reviewed Spark classes names: it has the value and the name of its child. */
trait GuardExpression extends UnaryExpression {
  override def nullable: Boolean = child.nullable

  override def dataType: DataType = child.dataType

  override def prettyName: String = child.prettyName

  override def sql: String = child.sql

  override def toString: String = child.toString
}

/**
 * An expression that a rule puts into a plan at the end. Spark treats it as its child, so an exchange still fits the operator
 * that needs it.
 */
trait HiddenExpression extends GuardExpression {
  final override lazy val canonicalized: Expression = child.canonicalized
}
