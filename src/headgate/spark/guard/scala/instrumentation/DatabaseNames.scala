package io.headgate.guard.instrumentation

import org.apache.xbean.asm9.MethodVisitor
import org.apache.xbean.asm9.Opcodes.{ICONST_0, POP2}

/**
 * Lets `spark.catalog` find databases in the lake only. Spark looks for a database of that name in its own catalog first, which
 * is empty except for a database `default`.
 */
final class DatabaseNames extends ClassChange(Set("org/apache/spark/sql/classic/Catalog")) {
  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor = method match {
    case "resolveNamespace" => ClassChange.atCalls(inner) { (called, itself) =>
      if (called.method == "databaseExists") {
        inner.visitInsn(POP2) // the catalog and the name
        inner.visitInsn(ICONST_0)
      } else itself()
    }
    case _ => inner
  }
}
