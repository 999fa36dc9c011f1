package io.headgate.guard.expressions

import io.headgate.guard.limits.LimitExceeded
import io.headgate.guard.memory.HeapHeadroom
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeArrayData, UnsafeMapData, UnsafeRow}
import org.apache.spark.sql.catalyst.util.{ArrayData, GenericArrayData, MapData}
import org.apache.spark.unsafe.types.{UTF8String, VariantVal}

/** The sizes of values, and how large one may become. Generated code calls these functions. */
object Sizes {
  /** Most bytes of one value that a function returns. A heap of 1 GiB holds several such values for each processor. */
  val MaxBytes: Long = 16L << 20

  /** Most digits of a rounded or formatted number. */
  val MaxDigits: Long = 10000

  private val Word = 8L

  /** Throw `LimitExceeded` if a value of this number of bytes is too large. */
  def require(function: String, bytes: Long): Unit = {
    if (bytes > MaxBytes || bytes < 0)
      throw new LimitExceeded(
        s"`$function` would make a value of more than ${MaxBytes >> 20} MiB; make it smaller, or split it into rows")
    HeapHeadroom.require(function, bytes)
  }

  /** Return the value. Throw `LimitExceeded` if it is too large. */
  def checked(function: String, value: Any): Any = {
    require(function, of(value))
    value
  }

  /** Pass rows. Throw `LimitExceeded` with the message `why` once they have more than `most` bytes together. */
  def bounded(rows: Iterator[InternalRow], most: Long, why: String): Iterator[InternalRow] = {
    var bytes = 0L
    rows.map { row =>
      bytes += of(row)
      if (bytes > most) throw new LimitExceeded(why)
      row
    }
  }

  /** Return the bytes of a value once it is written into a row; counting stops above the limit. */
  def of(value: Any): Long = value match {
    case null => 0
    case text: UTF8String => text.numBytes
    case bytes: Array[Byte] => bytes.length
    case array: UnsafeArrayData => array.getSizeInBytes
    case map: UnsafeMapData => map.getSizeInBytes
    case row: UnsafeRow => row.getSizeInBytes
    case array: GenericArrayData => total(array.array.iterator)
    case array: ArrayData => Word * array.numElements()
    case map: MapData => of(map.keyArray()) + of(map.valueArray())
    case row: GenericInternalRow => total(row.values.iterator)
    case row: InternalRow => Word * row.numFields
    case variant: VariantVal => variant.getValue.length.toLong + variant.getMetadata.length
    case _ => Word
  }

  private def total(parts: Iterator[Any]): Long = {
    var sum = 0L
    while (parts.hasNext && sum <= MaxBytes) sum += Word + of(parts.next())
    sum
  }

  /** Return `count` times `each`, or more than any limit. */
  def times(count: Long, each: Long): Long =
    if (count <= 0 || each <= 0) 0L
    else if (count > Long.MaxValue / each) Long.MaxValue
    else count * each
}
