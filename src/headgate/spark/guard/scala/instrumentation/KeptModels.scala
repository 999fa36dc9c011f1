package io.headgate.guard.instrumentation

import org.apache.xbean.asm9.{MethodVisitor, Opcodes}

/** Checks before Spark keeps a model or a summary of `spark.ml` for a session, and before it takes one by its id. */
final class KeptModels extends ClassChange(Set(KeptModels.Cache)) {
  import KeptModels._

  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor = (method, kind) match {
    case ("register", Register) => ClassChange.atBegin(inner) { visitor =>
      session(visitor)
      visitor.visitVarInsn(Opcodes.ALOAD, 1)
      call(visitor, "made", s"(L$Session;L$Any;)V")
    }
    case ("get", Get) => ClassChange.atBegin(inner) { visitor =>
      session(visitor)
      visitor.visitVarInsn(Opcodes.ALOAD, 0)
      visitor.visitVarInsn(Opcodes.ALOAD, 1)
      call(visitor, "use", s"(L$Session;L$Cache;${ClassChange.Text})V")
    }
    case _ => inner
  }

  private def session(visitor: MethodVisitor): Unit = {
    visitor.visitVarInsn(Opcodes.ALOAD, 0)
    visitor.visitFieldInsn(Opcodes.GETFIELD, Cache, "sessionHolder", s"L$Session;")
  }

  private def call(visitor: MethodVisitor, method: String, kind: String): Unit =
    visitor.visitMethodInsn(Opcodes.INVOKESTATIC, "org/apache/spark/sql/connect/ml/RetainedModels", method, kind, false)
}

private object KeptModels {
  private val Cache = "org/apache/spark/sql/connect/ml/MLCache"
  private val Session = "org/apache/spark/sql/connect/service/SessionHolder"
  private val Any = "java/lang/Object"
  private val Register = s"(L$Any;)${ClassChange.Text}"
  private val Get = s"(${ClassChange.Text})L$Any;"
}
