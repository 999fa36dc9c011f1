package io.headgate.guard.driver

/**
 * Text that is safe in terminals and logs: characters that would move a cursor, change a setting or reorder letters are
 * escaped. The API writes its logs by the same rule, in `headgate.control.text.terminal_text`.
 */
object TerminalText {
  private val Kept = "\t\n"
  /** The control characters C0 and C1, and those that change the direction of text. */
  private val Ranges = Seq(0x00 -> 0x1f, 0x7f -> 0x9f, 0x61c -> 0x61c, 0x200e -> 0x200f, 0x2028 -> 0x202e, 0x2066 -> 0x2069)
  private val LastOfTwoDigits = 0xff

  def escape(text: String): String = if (text.forall(isPlain)) text else text.flatMap(written)

  private def isPlain(letter: Char): Boolean =
    Kept.indexOf(letter) >= 0 || !Ranges.exists { case (first, last) => first <= letter && letter <= last }

  private def written(letter: Char): String =
    if (isPlain(letter)) letter.toString
    else if (letter <= LastOfTwoDigits) f"\\x${letter.toInt}%02x"
    else f"\\u${letter.toInt}%04x"
}
