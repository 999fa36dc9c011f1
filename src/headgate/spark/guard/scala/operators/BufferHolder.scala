package org.apache.spark.sql.catalyst.expressions.codegen

import io.headgate.guard.limits.LimitExceeded
import io.headgate.guard.memory.HeapHeadroom
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.array.ByteArrayMethods


/**
 * The buffer of a row while Spark writes it: Spark's own class with a limit. Every row that Spark creates is written here, and
 * Spark has no other place where the size of a row is known before the row is created: one value may be in a hundred columns.
 * The guard's jar comes before Spark's on the driver's class path; executors of a cluster use Spark's own class.
 */
final class BufferHolder(row: UnsafeRow, initialSize: Int) {
  private[this] val fixedSize = UnsafeRow.calculateBitSetWidthInBytes(row.numFields) + 8 * row.numFields
  private[this] var buffer = new Array[Byte](ByteArrayMethods.roundNumberOfBytesToNearestWord(fixedSize + initialSize))
  private[this] var cursor = Platform.BYTE_ARRAY_OFFSET
  row.pointTo(buffer, buffer.length)

  def this(row: UnsafeRow) = this(row, BufferHolder.InitialSize)

  def grow(neededSize: Int): Unit = {
    val length = totalSize().toLong + neededSize
    if (buffer.length < length || neededSize < 0) enlarge(neededSize, length)
  }

  private[this] def enlarge(neededSize: Int, length: Long): Unit = {
    if (neededSize < 0 || length > BufferHolder.Most)
      throw new LimitExceeded(s"a row would have more than ${BufferHolder.Most >> 20} MiB; select fewer or smaller columns, or collect fewer values in one row")
    HeapHeadroom.require("row", length)
    val larger = new Array[Byte](ByteArrayMethods.roundNumberOfBytesToNearestWord(math.min(2 * length, math.max(length, BufferHolder.Most)).toInt))
    Platform.copyMemory(buffer, Platform.BYTE_ARRAY_OFFSET, larger, Platform.BYTE_ARRAY_OFFSET, totalSize())
    buffer = larger
    row.pointTo(buffer, buffer.length)
  }

  def getBuffer(): Array[Byte] = buffer

  def getCursor(): Int = cursor

  def increaseCursor(size: Int): Unit = cursor += size

  def reset(): Unit = cursor = Platform.BYTE_ARRAY_OFFSET + fixedSize

  def totalSize(): Int = cursor - Platform.BYTE_ARRAY_OFFSET
}

private object BufferHolder {
  private val InitialSize = 64

  /** Most bytes of a row: an eighth of the heap, as for a broadcast table. */
  private val Most = math.min(Runtime.getRuntime.maxMemory / 8, (Int.MaxValue / 4).toLong)
}
