package io.headgate.guard.limits

/** Limits of the names that Spark may suggest in an error for a name that does not exist. */
object SuggestionLimit {
  private val MaxComparisons = 10000000L

  /**
   * Return the known names, each as its parts, if the name can be compared with all of them in a short time; none otherwise.
   */
  def few(name: String, known: Seq[Seq[String]]): Seq[Seq[String]] =
    if (name.length * known.map(_.map(_.length.toLong).sum).sum <= MaxComparisons) known else Nil
}
