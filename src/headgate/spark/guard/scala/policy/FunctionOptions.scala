package io.headgate.guard.policy

/** Options of the functions that read and write CSV, JSON and XML text: by list, because some open files or load classes. */
object FunctionOptions {
  private val listed = OptionList.byUser("function-options")

  /** Refuses an option that is not on the format's list, and a number that is larger than the list says. */
  def check(format: String, options: Map[String, String]): Unit = listed(format).check(s"$format functions", options)
}
