package io.headgate.guard

import org.apache.xbean.asm9.{MethodVisitor, Opcodes}

/**
 * Names that Spark generates for columns of expressions, as a text of the expression with the names in it. Where these are
 * generated too, they double with each level, so the names that a statement puts into others are counted.
 */
final class GeneratedNames extends ClassChange(Set("org.apache.spark.sql.catalyst.expressions.PrettyAttribute")) {
  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor =
    if (method == "<init>" && kind.startsWith("(Ljava/lang/String;")) new GeneratedNames.Counting(inner) else inner
}

private object GeneratedNames {
  private final class Counting(inner: MethodVisitor) extends MethodVisitor(Opcodes.ASM9, inner) {
    override def visitInsn(code: Int): Unit = {
      if (code == Opcodes.RETURN) {
        super.visitVarInsn(Opcodes.ALOAD, 1)
        super.visitMethodInsn(Opcodes.INVOKESTATIC, "io/headgate/guard/NameLengths", "count", "(Ljava/lang/String;)V", false)
      }
      super.visitInsn(code)
    }
  }
}

/** The characters of names that an operation has put into others. */
object NameLengths {
  private val Most = 16L << 20
  private val counted = ThreadLocal.withInitial[Counted](() => new Counted)

  private final class Counted {
    var operation = ""
    var characters = 0L
  }

  /** Counts a name. Throws `LimitExceeded` if the operation of this thread has too many. */
  def count(name: String): Unit = DriverThreads.own.foreach { operation =>
    val known = counted.get
    if (known.operation != operation) {
      known.operation = operation
      known.characters = 0
    }
    known.characters += name.length
    if (known.characters > Most)
      PlanLimits.tooComplex(s"makes column names of more than ${Most >> 20} million characters; give its expressions names with AS")
  }
}
