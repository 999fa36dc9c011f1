package io.headgate.guard.instrumentation

import org.apache.xbean.asm9.{MethodVisitor, Opcodes}

/**
 * Limits the names that Spark generates for columns of expressions: the text of the expression, with the names in it. If these
 * names are generated too, they double with each level, so `NameLengths` counts each name as it is put into another.
 */
final class GeneratedNames extends ClassChange(Set("org.apache.spark.sql.catalyst.expressions.PrettyAttribute")) {
  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor =
    if (method != "<init>" || !kind.startsWith(s"(${ClassChange.Text}")) inner
    else ClassChange.atEnd(inner) { visitor =>
      visitor.visitVarInsn(Opcodes.ALOAD, 1)
      ClassChange.call(visitor, "limits/NameLengths", "count", s"(${ClassChange.Text})V")
    }
}
