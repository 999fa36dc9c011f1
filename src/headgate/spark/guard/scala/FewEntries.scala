package io.headgate.guard

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.util.MapData

/** A map of which a function compares each key with each of another map. */
final case class FewEntries(child: Expression) extends UnaryExpression with CodegenFallback with GuardExpression {
  override def eval(row: InternalRow): Any = child.eval(row) match {
    case map: MapData if map.numElements() > FewEntries.Most =>
      throw new LimitExceeded(s"a map of more than ${FewEntries.Most} entries with keys of this type is too large to be compared; use fewer, or keys of a simple type")
    case other => other
  }

  override protected def withNewChildInternal(changed: Expression): FewEntries = copy(child = changed)
}

object FewEntries {
  private val Most = 5000

  def of(map: Expression): Expression = map match {
    case done: FewEntries => done
    case other => FewEntries(other)
  }
}
