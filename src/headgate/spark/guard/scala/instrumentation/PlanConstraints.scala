package io.headgate.guard.instrumentation

import org.apache.xbean.asm9.MethodVisitor

/**
 * Limits the constraints that Spark infers from a condition on some columns: for other names of these columns, and for columns
 * that are equal to them. Each name doubles the constraints, so `ConstraintLimit` selects the conditions that they are inferred
 * from. Spark scans all constraints for each one that it removes, so removals have interruption checks.
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
