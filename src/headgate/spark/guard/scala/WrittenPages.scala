package io.headgate.guard

import org.apache.xbean.asm9.{MethodVisitor, Opcodes}

/**
 * What Iceberg keeps of a Parquet file that it writes, before it writes it to disk. Iceberg first asks how much that is after a
 * hundred rows, however large each is, and then guesses from what it has seen how many more to wait.
 */
final class WrittenPages extends ClassChange(Set("org.apache.iceberg.shaded.org.apache.parquet.bytes.HeapByteBufferAllocator")) {
  override protected def changed(method: String, kind: String, inner: MethodVisitor): MethodVisitor =
    if (method != "allocate") inner
    else ClassChange.callAtBegin(inner, "WrittenPages", "require", "(I)V", Opcodes.ILOAD -> 1)
}

object WrittenPages {
  /** Throws `LimitExceeded` if the heap has no room for so many bytes of a page. Changed bytecode calls this. */
  def require(bytes: Int): Unit = Room.require("parquet", bytes)
}
