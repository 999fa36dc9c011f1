package io.headgate.guard.expressions

import org.apache.spark.sql.catalyst.expressions.Sequence
import org.apache.spark.sql.types.{DateType, TimestampNTZType, TimestampType, YearMonthIntervalType}
import org.apache.spark.unsafe.types.CalendarInterval

/** The size in bytes of the array that `sequence` returns. */
private[guard] object SequenceSize {
  private val Day = 86400000000d
  private val ShortestMonth = 28
  private val Word = 8d

  def of(sequence: Sequence, values: Array[Any]): Long =
    if (values.contains(null)) 0L
    else {
      val span = number(values(1)) - number(values(0))
      val count = math.abs(span * unit(sequence)) / math.max(step(sequence, values.lift(2)), 1d)
      (math.min(count, Long.MaxValue / Word) * Word).toLong
    }

  private def unit(sequence: Sequence): Double = sequence.start.dataType match {
    case DateType => Day
    case _ => 1d
  }

  private def step(sequence: Sequence, given: Option[Any]): Double = given match {
    case Some(interval: CalendarInterval) =>
      math.abs(interval.months * ShortestMonth * Day + interval.days * Day + interval.microseconds)
    case Some(months) if isMonths(sequence) => math.abs(number(months)) * ShortestMonth * Day
    case Some(other) => math.abs(number(other))
    case None if isTime(sequence) => Day
    case None => 1d
  }

  private def isMonths(sequence: Sequence): Boolean =
    isTime(sequence) && sequence.stepOpt.exists(_.dataType.isInstanceOf[YearMonthIntervalType])

  private def isTime(sequence: Sequence): Boolean = sequence.start.dataType match {
    case DateType | TimestampType | TimestampNTZType => true
    case _ => false
  }

  private def number(value: Any): Double = value match {
    case number: Number => number.doubleValue
    case _ => 0d
  }
}

/**
 * The largest size in bytes of the text that `format_string` returns. Java accepts flags, places and widths in more orders than
 * it documents, so every number between `%` and the letter counts, in any order.
 */
private[guard] object FormatSize {
  private val Place = "%([^a-zA-Z%]*)".r
  private val Amount = """(\d+)(\$)?""".r
  private val Number = 400L
  private val Digits = 9

  def of(values: Array[Any]): Long = values.headOption.filter(_ != null).fold(0L) { format =>
    val sizes = values.tail.map(value => math.max(Sizes.of(value), Number))
    var (next, last, total) = (0, 0, format.toString.length.toLong)
    for (place <- Place.findAllMatchIn(format.toString) if total <= Sizes.MaxBytes) {
      val (places, widths) = Amount.findAllMatchIn(place.group(1)).toSeq.partition(_.group(2) != null)
      val index = places.lastOption.map(given => amount(given.group(1)).toInt)
      val read = if (place.group(1).contains('<')) index.toSeq :+ last else Seq(index.getOrElse { next += 1; next })
      last = read.head
      total += widths.map(width => amount(width.group(1))).sum + read.map(each => sizes.lift(each - 1).getOrElse(0L)).max
    }
    total
  }

  private def amount(digits: String): Long = if (digits.length > Digits) Int.MaxValue.toLong else digits.toLong
}
