package io.headgate.guard.limits

/** The names that Spark may suggest in an error, for one that does not exist. */
object SuggestionLimit {
  private val MaxComparisons = 10000000L

  /** The known names, each in its parts, if the name can be compared with all of them; none otherwise. */
  def few(name: String, known: Seq[Seq[String]]): Seq[Seq[String]] =
    if (name.length * known.map(_.map(_.length.toLong).sum).sum <= MaxComparisons) known else Nil
}
