package io.headgate.guard.instrumentation

import io.headgate.guard.memory.HeapHeadroom
import org.apache.xbean.asm9.{MethodVisitor, Opcodes}

/**
 * Bounds the heap that Iceberg's Parquet writer buffers: Iceberg first checks its buffer after a hundred rows, whatever their
 * size.
 */
final class ParquetPageLimit extends ClassChange(Set("org.apache.iceberg.shaded.org.apache.parquet.bytes.HeapByteBufferAllocator")) {
  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor =
    if (method != "allocate") inner
    else ClassChange.callAtBegin(inner, "instrumentation/ParquetPageLimit", "require", "(I)V", Opcodes.ILOAD -> 1)
}

object ParquetPageLimit {
  /** Throw `LimitExceeded` if the heap has no room for these bytes of a page. Changed bytecode calls this. */
  def require(bytes: Int): Unit = HeapHeadroom.require("parquet", bytes)
}
