package io.headgate.guard.instrumentation

import org.apache.xbean.asm9.{MethodVisitor, Opcodes}

/** Lets Spark list the governed catalogs only, and also before their first use: Spark adds its own, of which everything is refused. */
final class GovernedCatalogs extends ClassChange(Set("org/apache/spark/sql/connector/catalog/CatalogManager")) {
  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor =
    if (method != "listCatalogs") inner
    else new MethodVisitor(Opcodes.ASM9, inner) {
      override def visitInsn(code: Int): Unit = {
        if (code == Opcodes.ARETURN) {
          inner.visitInsn(Opcodes.POP)
          inner.visitVarInsn(Opcodes.ALOAD, 1)
          ClassChange.call(inner, "catalog/CatalogList", "governed", kind)
        }
        super.visitInsn(code)
      }
    }
}
