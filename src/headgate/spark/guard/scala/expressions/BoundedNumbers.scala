package io.headgate.guard.expressions

import java.math.BigDecimal

/** Limits numbers that are read from text. A number that is too large or too small for every type of Spark stays so. */
object BoundedNumbers {
  private val MaxCharacters = 10000

  /** Larger than any number of characters before or after the point can make up for. */
  private val MaxExponent = 20000
  private val ShortExponent = MaxExponent.toString.length

  /** Return a text of the same number, or of one as far out of range. Throw `NumberFormatException` if the text is too long. */
  def bounded(text: String): String = {
    if (text.length > MaxCharacters)
      throw new NumberFormatException(s"a number in the data has ${text.length} characters; use at most $MaxCharacters")
    val at = math.max(text.lastIndexOf('e'), text.lastIndexOf('E'))
    if (at < 0 || text.length - at <= ShortExponent) text // too short for an exponent out of range
    else text.substring(0, at + 1) + exponent(text.substring(at + 1))
  }

  /** Return the number, or one as far out of range. */
  def bounded(number: BigDecimal): BigDecimal =
    if (math.abs(number.scale.toLong) <= MaxExponent) number
    else if (number.signum == 0) BigDecimal.ZERO
    else new BigDecimal(java.math.BigInteger.valueOf(number.signum), Integer.signum(number.scale) * MaxExponent)

  private def exponent(written: String): String = {
    val sign = written.takeWhile(each => each == '+' || each == '-')
    val digits = written.drop(sign.length).dropWhile(Character.digit(_, 10) == 0)
    val isFar = digits.forall(Character.isDigit) && (digits.length > ShortExponent || digits.length == ShortExponent && digits.toInt > MaxExponent)
    if (isFar) s"$sign$MaxExponent" else written
  }
}
