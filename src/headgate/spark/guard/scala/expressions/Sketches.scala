package io.headgate.guard.expressions

import java.nio.{ByteBuffer, ByteOrder}

import io.headgate.guard.limits.LimitExceeded

/**
 * What the formats of Apache DataSketches say of their size, and how far that may go. The library takes the word of the
 * bytes for how much memory it needs, and looks at bounds in assertions only, which the driver has switched on.
 */
object Sketches {
  private val Longest = 8 << 20
  private val LargestLogarithm = 21
  private val LongestLevel = 1 << 20
  private val MostLevels = 61
  private val Word = java.lang.Long.BYTES
  private val Preamble = 8
  private val LowSixBits = 0x3f

  private val checks: Map[String, Bytes => Boolean] =
    Map("hll" -> isHll, "theta" -> isTheta, "kll" -> isKll, "items" -> isItems)

  /** Throws `LimitExceeded` if the bytes say that they hold more than they can. */
  def check(format: String, bytes: Array[Byte]): Unit = {
    val read = new Bytes(bytes)
    if (bytes.length > Longest || (bytes.length < Preamble && format != "kll") || !checks(format)(read))
      throw new LimitExceeded(s"these bytes are no $format sketch that Headgate reads; make one with Spark's own functions, of at most ${Longest >> 20} MiB")
  }

  /** Bytes in the order that the library writes; beyond their end are zeros. */
  private final class Bytes(bytes: Array[Byte]) {
    private val buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)

    val length: Int = bytes.length

    def byte(at: Int): Int = if (at < length) bytes(at) & 0xff else 0

    def int(at: Int): Int = if (at + 4 <= length) buffer.getInt(at) else 0

    /** A number of so many bytes. */
    def number(at: Int, size: Int): Long = (0 until size.min(Word)).map(index => byte(at + index).toLong << (8 * index)).sum
  }

  /** Logarithms of the registers and of the list of coupons or exceptions. */
  private def isHll(sketch: Bytes): Boolean = sketch.byte(3) <= LargestLogarithm && sketch.byte(4) <= LargestLogarithm

  /** The number of hashes: whole words in one form, packed bits in the other. */
  private def isTheta(sketch: Bytes): Boolean = {
    val words = sketch.byte(0) & LowSixBits
    sketch.byte(1) match {
      case 4 =>
        val (bits, size, at) = (sketch.byte(3).max(1), sketch.byte(4), if (words > 1) 2 * Word else Word)
        size <= 4 && bits <= 64 && sketch.number(at, size) * bits <= sketch.length.toLong * 8
      case _ => words <= 1 || (sketch.int(Word) >= 0 && sketch.int(Word).toLong * Word <= sketch.length)
    }
  }

  /** The levels, each of which begins where it says; none in a sketch of one value. */
  private def isKll(sketch: Bytes): Boolean = {
    val (preamble, version) = (sketch.byte(0), sketch.byte(1))
    if (sketch.length < Preamble) false
    else if (preamble == 2 || version == 2) true
    else {
      val levels = (0 to sketch.byte(18)).map(level => sketch.int(20 + 4 * level))
      sketch.byte(18) <= MostLevels && levels.forall(each => each >= 0 && each <= LongestLevel)
    }
  }

  /** Logarithms of the map of counts, and how many it has. */
  private def isItems(sketch: Bytes): Boolean =
    sketch.byte(3) <= LargestLogarithm && sketch.byte(4) <= LargestLogarithm && sketch.int(Word) >= 0 && sketch.int(Word).toLong * Word <= sketch.length
}
