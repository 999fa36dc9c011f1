package io.headgate.guard.expressions

import java.nio.{ByteBuffer, ByteOrder}

import io.headgate.guard.limits.LimitExceeded

/**
 * Checks of the sizes that sketches of Apache DataSketches declare. The library trusts them for the memory that it needs, and
 * checks bounds in assertions only, which the driver has switched on.
 */
object Sketches {
  private val Longest = 8 << 20
  private val LargestLogarithm = 21
  private val LongestLevel = 1 << 20
  private val MostLevels = 61
  private val Updatable = 3
  private val Word = java.lang.Long.BYTES
  private val Preamble = 8
  private val LowSixBits = 0x3f

  private val checks: Map[String, Bytes => Boolean] =
    Map("hll" -> isHll, "theta" -> isTheta, "kll" -> isKll, "items" -> isItems)

  /** Throw `LimitExceeded` if the bytes declare more than they can hold. */
  def check(format: String, bytes: Array[Byte]): Unit = {
    val read = new Bytes(bytes)
    if (bytes.length > Longest || (bytes.length < Preamble && format != "kll") || !checks(format)(read))
      throw new LimitExceeded(s"the sketch in the argument is not a valid $format sketch, or is larger than ${Longest >> 20} MiB; create it with Spark's own sketch functions")
  }

  /** Bytes in the byte order of the library; beyond their end are zeros. */
  private final class Bytes(bytes: Array[Byte]) {
    private val buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)

    val length: Int = bytes.length

    def byte(at: Int): Int = if (at < length) bytes(at) & 0xff else 0

    def int(at: Int): Int = if (at + 4 <= length) buffer.getInt(at) else 0

    /** Return a number of `size` bytes. */
    def number(at: Int, size: Int): Long = (0 until size.min(Word)).map(index => byte(at + index).toLong << (8 * index)).sum
  }

  /** Check the logarithms of the registers, and of the list of coupons or exceptions. */
  private def isHll(sketch: Bytes): Boolean = sketch.byte(3) <= LargestLogarithm && sketch.byte(4) <= LargestLogarithm

  /** Check the number of hashes: whole words in one form, packed bits in the other. */
  private def isTheta(sketch: Bytes): Boolean = {
    val words = sketch.byte(0) & LowSixBits
    sketch.byte(1) match {
      case 4 =>
        val (bits, size, at) = (sketch.byte(3).max(1), sketch.byte(4), if (words > 1) 2 * Word else Word)
        size <= 4 && bits <= 64 && sketch.number(at, size) * bits <= sketch.length.toLong * 8
      case _ => words <= 1 || (sketch.int(Word) >= 0 && sketch.int(Word).toLong * Word <= sketch.length)
    }
  }

  /**
   * Check the levels, each of which begins where it says; a sketch of one value has none. Only a sketch in its updatable form has
   * the end of the last level, too.
   */
  private def isKll(sketch: Bytes): Boolean = {
    val (preamble, version) = (sketch.byte(0), sketch.byte(1))
    if (sketch.length < Preamble) false
    else if (preamble == 2 || version == 2) true
    else {
      val written = sketch.byte(18) + (if (version == Updatable) 1 else 0)
      val levels = (0 until written).map(level => sketch.int(20 + 4 * level))
      sketch.byte(18) <= MostLevels && levels.forall(each => each >= 0 && each <= LongestLevel)
    }
  }

  /** Check the logarithms of the map of counts, and the number of counts. */
  private def isItems(sketch: Bytes): Boolean =
    sketch.byte(3) <= LargestLogarithm && sketch.byte(4) <= LargestLogarithm && sketch.int(Word) >= 0 && sketch.int(Word).toLong * Word <= sketch.length
}
