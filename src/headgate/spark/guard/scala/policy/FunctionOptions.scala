package io.headgate.guard.policy

/**
 * Checks of the options of functions that read and write CSV, JSON and XML text. Only listed options are allowed, because
 * others open files or load classes.
 */
object FunctionOptions {
  private val listed = OptionList.byUser("function-options")

  /** Refuse an option that is not on the format's list, and a number outside of its range in the list. */
  def check(format: String, options: Map[String, String]): Unit = listed(format).check(s"$format functions", options)
}
