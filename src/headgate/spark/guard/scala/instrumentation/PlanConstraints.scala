package io.headgate.guard.instrumentation

import org.apache.xbean.asm9.MethodVisitor

/**
 * Where Spark concludes from a condition on some columns what holds for others: for their further names, and for what they
 * are equal to. Each name doubles the conclusions, so `ConstraintLimit` says from what they are drawn. Spark looks through all of
 * them for each that it removes.
 */
final class PlanConstraints extends ClassChange(PlanConstraints.classes) {
  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor = method match {
    case "getAllValidConstraints" =>
      ClassChange.replaceArgument(inner, 1, "limits/ConstraintLimit", "named", s"(${PlanConstraints.Node}${ClassChange.Several})${ClassChange.Several}", 0, 1)
    case "inferAdditionalConstraints" =>
      ClassChange.replaceArgument(inner, 1, "limits/ConstraintLimit", "equated", s"(${PlanConstraints.Conditions})${PlanConstraints.Conditions}", 1)
    case "remove" => ClassChange.atEnd(inner)(ClassChange.call(_, "limits/Interruption", "checkNode", "()V"))
    case _ => inner
  }
}

private object PlanConstraints {
  private val Sql = "org/apache/spark/sql/catalyst"
  private val classes = Set("plans/logical/UnaryNode", "plans/logical/ConstraintHelper", "expressions/ExpressionSet").map(s"$Sql/" + _)
  private val Node = s"L$Sql/plans/logical/UnaryNode;"
  private val Conditions = s"L$Sql/expressions/ExpressionSet;"
}
